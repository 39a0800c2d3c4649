package download

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
)

// GetFolders is Get with a folder for each dataset in opt.Dir, each with its own lists: see
// folders. Several datasets are fetched at a time; the visits limit the requests to each host. The
// paths of the results begin with the folder.
func GetFolders(ctx context.Context, files []File, opt Options) ([]Result, error) {
	opt = opt.withDefaults()
	var sets [][]File
	for _, f := range files { // the files of a dataset are consecutive
		if n := len(sets); n > 0 && sets[n-1][0].Dataset.ID == f.Dataset.ID {
			sets[n-1] = append(sets[n-1], f)
		} else {
			sets = append(sets, []File{f})
		}
	}
	progress := newTally(sets, opt.Progress)
	results := make([][]Result, len(sets))
	folders, err := foldersIn(opt.Dir)
	if err != nil {
		return nil, err
	}
	opt.total = new(atomic.Int64)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(opt.Hosts)
	for i, set := range sets {
		g.Go(func() error {
			if gctx.Err() != nil {
				return gctx.Err()
			}
			one := opt
			folder := folders.of(set[0].Dataset)
			one.Dir, one.Progress = filepath.Join(opt.Dir, folder), progress.of(i)
			if err := os.MkdirAll(one.Dir, 0o777); err != nil {
				return err
			}
			if st, err := os.Lstat(one.Dir); err != nil || !st.IsDir() {
				return errors.Join(err, fmt.Errorf("%s is a link or something else than a directory; remove it, or use another --dir", one.Dir))
			}
			got, err := Get(gctx, set, one)
			for k := range got {
				if got[k].Path != "" {
					got[k].Path = folder + "/" + got[k].Path
				}
			}
			results[i] = got
			return err
		})
	}
	err = g.Wait()
	var all []Result
	for _, r := range results {
		all = append(all, r...)
	}
	return all, err
}

// folders are the folders in a directory with many datasets, by the ID at the end of their names.
type folders map[string]string

// foldersIn reads them once, because there may be as many as datasets. Links do not count.
func foldersIn(dir string) (folders, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := folders{}
	for _, e := range entries {
		if i := strings.LastIndexByte(e.Name(), '-'); i >= 0 && e.IsDir() {
			if id := e.Name()[i+1:]; all[id] == "" {
				all[id] = e.Name()
			}
		}
	}
	return all, nil
}

// of returns the folder of a dataset: the existing folder with its ID, even if the title has
// changed, else a name made of its title and its ID.
func (f folders) of(d *crawl.DatasetInfo) string {
	if name := f[d.ID]; name != "" {
		return name
	}
	return shorten(slug(title(d)), 60) + "-" + d.ID
}
