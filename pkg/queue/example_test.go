package queue_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// A reader follows a log from a position that it stores itself. Here the position is a variable. A
// real program stores it in the transaction that applies the batch.
func ExampleLog_Follow() {
	dir, err := os.MkdirTemp("", "queue")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	quiet := slog.New(slog.DiscardHandler)
	s, err := embedded.Start(embedded.Options{Dir: dir, Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Shutdown()
	ctx, stop := context.WithCancel(context.Background())
	q, err := queue.Dial(ctx, queue.Options{InProcess: s.InProcess(), User: s.User(), Password: s.Password()}, quiet)
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	l, err := q.OpenLog(ctx, queue.LogConfig{Stream: "docs-EVENTS-0", Subject: "docs.events.0", MaxBytes: 16 << 20})
	if err != nil {
		log.Fatal(err)
	}
	for _, word := range []string{"never", "too", "fast"} {
		if _, err := l.Append(ctx, []byte(word)); err != nil {
			log.Fatal(err)
		}
	}
	var applied queue.Position
	err = l.Follow(ctx, applied, func(batch []queue.Entry) error {
		for _, e := range batch {
			fmt.Println(e.Seq, string(e.Data))
			applied = e.Position
		}
		if applied.Seq == 3 {
			stop()
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 never
	// 2 too
	// 3 fast
}
