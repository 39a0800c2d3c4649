package fetcher

import "time"

// signing tells the operator what becomes of signatures: who signs, how many requests, and that the
// clock is wrong, for which origins refuse them (protocols §8.28).
func (f *Fetcher) signing() {
	f.log.Info("requests over https are signed", "signer", f.opt.Signer)
	f.client.OnSigned(f.met.Signed.Inc)
	f.client.OnSkew(func(ahead time.Duration) {
		f.log.Warn("several servers say that the clock of this machine is wrong; sites refuse what is signed with such a time: "+
			"set the clock, for example with timedatectl set-ntp true", "ahead", ahead.Round(time.Second))
	})
}
