package fetcher

import "time"

// signing reports to the operator who signs, how many requests are signed, and if the clock is
// wrong, because origins then refuse signatures (formats §8.28).
func (s *Shared) signing(opt Options) {
	opt.Log.Info("requests over https are signed", "signer", opt.Signer)
	s.client.OnSigned(s.metrics.Signed.Inc)
	s.client.OnSkew(func(ahead time.Duration) {
		opt.Log.Warn("according to several servers, the clock of this machine is wrong; sites refuse requests signed with a wrong time: "+
			"set the clock, for example with timedatectl set-ntp true", "ahead", ahead.Round(time.Second))
	})
}
