package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
)

// The measures of the plot, in pixels.
const (
	plotLeft   = 56
	plotTop    = 64
	plotHeight = 280
	barWidth   = 22
	groupGap   = 34
)

// plot draws the recall@10 of each driver by category, with the 95 % intervals, as an SVG.
func plot(r *report) []byte {
	d := &drawing{}
	drivers := len(r.Groups[0].Drivers)
	step := drivers*barWidth + groupGap
	width := plotLeft + len(r.Groups)*step + groupGap
	width = max(width, plotLeft+drivers*110) // the legend
	height := plotTop + plotHeight + 56
	d.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, width, height, width, height)
	d.add(`<rect width="%d" height="%d" fill="#ffffff"/>`, width, height)
	d.text(plotLeft, 22, "start", "recall@10 with 95 % intervals, "+r.File)
	for tenth := 0; tenth <= 10; tenth += 2 {
		y := at(float64(tenth) / 10)
		d.add(`<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/>`, plotLeft, y, width-groupGap/2, y)
		d.text(plotLeft-8, y+4, "end", fmt.Sprintf("%.1f", float64(tenth)/10))
	}
	for i, ranking := range r.Groups[0].Drivers {
		x := plotLeft + i*110
		d.add(`<rect x="%d" y="34" width="12" height="12" fill="%s"/>`, x, colour(i))
		d.text(x+18, 44, "start", ranking.Driver)
	}
	for n := range r.Groups {
		g := &r.Groups[n]
		x := plotLeft + groupGap/2 + n*step
		for i, ranking := range g.Drivers {
			d.bar(x+i*barWidth, colour(i), ranking.Metrics[recall10.String()])
		}
		middle := x + drivers*barWidth/2
		d.text(middle, plotTop+plotHeight+20, "middle", g.Name)
		d.text(middle, plotTop+plotHeight+36, "middle", fmt.Sprintf("n=%d", g.Questions))
	}
	d.add(`</svg>`)
	return d.Bytes()
}

// at is where a value from 0 to 1 stands.
func at(value float64) float64 { return plotTop + plotHeight*(1-value) }

// colour is a driver's, of a palette that colour-blind people can tell apart (Okabe and Ito's).
func colour(driver int) string {
	palette := [...]string{"#0072b2", "#e69f00", "#009e73", "#cc79a7"}
	return palette[driver%len(palette)]
}

// drawing is an SVG in the making.
type drawing struct{ bytes.Buffer }

// add writes a line. Texts of others are for text.
func (d *drawing) add(format string, args ...any) { _, _ = fmt.Fprintf(d, format+"\n", args...) }

func (d *drawing) bar(x int, fill string, f figure) {
	d.add(`<rect x="%d" y="%.1f" width="%d" height="%.1f" fill="%s"/>`, x, at(f.Mean), barWidth-3, at(0)-at(f.Mean), fill)
	middle := float64(x) + float64(barWidth-3)/2
	d.add(`<path d="M%.1f %.1fV%.1fm-4 0h8M%.1f %.1fh8" stroke="#222222" fill="none"/>`, middle, at(f.Low), at(f.High), middle-4, at(f.Low))
}

// text writes a text whose place is given by its baseline and its start, middle or end.
func (d *drawing) text(x int, y float64, anchor, text string) {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // a buffer takes everything
	d.add(`<text x="%d" y="%.1f" text-anchor="%s">%s</text>`, x, y, anchor, escaped.String())
}
