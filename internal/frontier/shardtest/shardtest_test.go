package shardtest_test

import (
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// What a test has put into a shard is there when the file is opened again, and the packages under
// test are made a second time.
func TestReopen(t *testing.T) {
	made := 0
	s := shardtest.Open(t, shardtest.Spec(), func(*shardtest.Shard) shardtest.Tested {
		made++
		return shardtest.Tested{}
	})
	s.Link(3, "http://a.example/x", "http://a.example/y")
	s.Set("http://a.example/y", urls.Verdict{Class: crawl.Stored}, func(r *urls.Record) { r.Status = 200 })
	s.Reopen()
	if made != 2 {
		t.Errorf("the packages under test were made %d times", made)
	}
	if _, r := s.Record("http://a.example/x"); r.Class != crawl.Queued || r.Depth != 3 {
		t.Errorf("after it is opened again: %+v", r)
	}
	if h, r := s.Record("http://a.example/y"); r.Class != crawl.Stored || r.Status != 200 || h.Name != "a.example" {
		t.Errorf("after it is opened again: %+v of %s", r, h.Name)
	}
	if events, pages := s.Sent(); len(events) != 0 || len(pages) != 0 {
		t.Errorf("sent without a reason: %v %v", events, pages)
	}
}
