//go:build external

package deploytest

import (
	"bytes"
	"cmp"
	pictures "image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

// shot writes a small picture of the page to the folder CURTSY_SHOTS in the repository, which is
// docs/img for those that are kept: the top of the page, reduced to its most frequent colours.
func (b *browser) shot(name string, height int) {
	b.t.Helper()
	dir := os.Getenv("CURTSY_SHOTS")
	if dir == "" {
		return
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	full, err := png.Decode(bytes.NewReader(get(b, chromedp.FullScreenshot(100))))
	if err != nil {
		b.t.Fatal(err)
	}
	r := full.Bounds()
	r.Max.Y = min(r.Max.Y, r.Min.Y+height)
	small := pictures.NewPaletted(r, mostColors(full, r, 128))
	draw.Draw(small, r, full, r.Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), out.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// mostColors returns the n most frequent colours of a picture, where similar colours count as one.
func mostColors(p pictures.Image, r pictures.Rectangle, n int) (most color.Palette) {
	count := map[color.RGBA]int{}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			count[color.RGBAModel.Convert(p.At(x, y)).(color.RGBA)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	for _, c := range all {
		// The edges of letters have hundreds of colours, which must not displace rare ones.
		if near := func(m color.Color) bool { return distance(c, m.(color.RGBA)) < 40 }; !slices.ContainsFunc(most, near) && len(most) < n {
			most = append(most, c)
		}
	}
	return most
}

// distance returns the squared distance of two colours.
func distance(a, b color.RGBA) int {
	r, g, bl := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + bl*bl
}
