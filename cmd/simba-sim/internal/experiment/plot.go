package experiment

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// panel is one of the four diagrams of a figure.
type panel struct {
	title, axis string
	lines       []line
}

// line is one line in a diagram.
type line struct {
	name string // in the legend; empty if it is alone
	y    func(p *Point) float64
}

var (
	failover = panel{"Failover after a crash", "time [s]", []line{
		{"longest", func(p *Point) float64 { return p.FailoverMax }},
		{"99 of 100", func(p *Point) float64 { return p.FailoverP99 }},
		{"median", func(p *Point) float64 { return p.FailoverP50 }},
	}}
	leaderless = panel{"Time without a leader", "share of the time [%]", []line{{"", func(p *Point) float64 { return 100 * p.Leaderless }}}}
	needless   = panel{"Terms lost although the leader was well", "terms per hour", []line{{"", func(p *Point) float64 { return p.NeedlessPerHour }}}}
	calls      = panel{"Calls to the backend", "calls per second", []line{{"", func(p *Point) float64 { return p.CallsPerSecond }}}}
	pauses     = panel{"Pauses that cost the term", "share of the pauses [%]", []line{{"", func(p *Point) float64 { return 100 * p.PausesLost }}}}
	overlaps   = panel{"Faults that led to two leaders at once", "share of the faults [%]", []line{{"", func(p *Point) float64 { return 100 * p.OverlapsPerFault }}}}
	overlap    = panel{"How long two led at once", "mean time [s]", []line{{"", func(p *Point) float64 { return p.Overlap }}}}
	stale      = panel{"Stale writes that were accepted", "writes per hour", []line{
		{"by the resource without a check", func(p *Point) float64 { return ratio(float64(p.StaleAccepted), p.Hours) }},
		{"by the one that checks tokens", func(*Point) float64 { return 0 }}, // or the world would have failed
	}}
)

// palette is told apart also by those who see colours differently (Okabe and Ito).
var palette = []color.Color{
	color.RGBA{R: 0xd5, G: 0x5e, A: 0xff}, color.RGBA{R: 0xe6, G: 0x9f, A: 0xff}, color.RGBA{G: 0x72, B: 0xb2, A: 0xff},
}

var glyphs = []draw.GlyphDrawer{draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CircleGlyph{}}

var grey = color.Gray{Y: 0xdd}

// The size of a figure.
const (
	width  = 25 * vg.Centimeter
	height = 18 * vg.Centimeter
)

// plot writes the figure, as path.svg and path.png.
func (r *Result) plot(path string) error {
	image := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(110))}
	for _, f := range []struct {
		name   string
		canvas interface {
			vg.CanvasSizer
			io.WriterTo
		}
	}{{".svg", vgsvg.New(width, height)}, {".png", image}} {
		if err := r.draw(draw.New(f.canvas)); err != nil {
			return err
		}
		var b bytes.Buffer
		if _, err := f.canvas.WriteTo(&b); err != nil {
			return err
		}
		if err := os.WriteFile(path+f.name, b.Bytes(), 0o666); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}

// draw draws the title and the four diagrams.
func (r *Result) draw(c draw.Canvas) error {
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	sub := fmt.Sprintf("%d worlds for each value; seed %d; %s", r.Points[0].Worlds, r.Seed, r.rest())
	style := plottext.Style{Font: sans(18), Color: color.Black, XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	middle := (c.Min.X + c.Max.X) / 2
	c.FillText(style, vg.Point{X: middle, Y: c.Max.Y - vg.Points(8)}, r.kind.title)
	style.Font = sans(11)
	c.FillText(style, vg.Point{X: middle, Y: c.Max.Y - vg.Points(32)}, sub)
	const rows, cols = 2, 2
	plots := make([][]*plot.Plot, rows)
	for i := range plots {
		plots[i] = make([]*plot.Plot, cols)
		for j := range plots[i] {
			p, err := r.diagram(r.kind.panels[i*cols+j])
			if err != nil {
				return err
			}
			plots[i][j] = p
		}
	}
	space := vg.Points(14)
	tiles := draw.Tiles{Rows: rows, Cols: cols, PadX: 2 * space, PadY: 2 * space, PadTop: 4 * space, PadBottom: space, PadLeft: space, PadRight: 2 * space}
	for i, row := range plot.Align(plots, tiles, c) {
		for j, cell := range row {
			plots[i][j].Draw(cell)
		}
	}
	return nil
}

// rest says what the worlds have in common.
func (r *Result) rest() string {
	var all string
	for _, k := range kinds {
		if k != r.kind && k.name != "jump" {
			all += k.name + " " + k.of.write(k.get(&r.base)) + ", "
		}
	}
	return fmt.Sprintf("%sbound %s, a fault every %s", all, percent(r.base.Bound), text(r.base.Every))
}

// diagram draws one panel.
func (r *Result) diagram(of panel) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.Title.TextStyle.Font, p.Title.Padding = of.title, sans(13), vg.Points(6)
	p.X.Label.Text, p.Y.Label.Text = r.kind.axis, of.axis
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font, a.Tick.Marker = sans(11), sans(10), plot.TickerFunc(ticks)
	}
	p.Legend.TextStyle.Font = sans(10)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = grey, grey
	p.Add(grid)
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
	p.Legend.XOffs, p.Legend.YOffs = vg.Points(6), -vg.Points(4)
	top := 0.0
	for i, l := range of.lines {
		points := make(plotter.XYs, len(r.Points))
		for j := range r.Points {
			points[j].X, points[j].Y = r.x(r.Points[j].X), l.y(&r.Points[j])
			top = max(top, points[j].Y)
		}
		if err := add(p, l.name, points, len(palette)-len(of.lines)+i); err != nil {
			return nil, err
		}
	}
	if top == 0 {
		top = 1
	}
	entries := len(of.lines)
	if r.kind.mark != nil {
		entries++
	}
	p.Y.Min, p.Y.Max = 0, (1.1+0.1*float64(entries))*top // zero, to see how much it is, and room for the legend
	if r.kind.log {
		p.X.Tick.Marker = plot.ConstantTicks(r.ticks())
	}
	return p, r.mark(p)
}

// x is where a value is on the axis. The library's logarithmic scale leaves a third
// of the width empty.
func (r *Result) x(value float64) float64 {
	x := value * r.kind.of.scale
	if r.kind.log {
		return math.Log10(x)
	}
	return x
}

func sans(points float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(points)}
}

// ticks are those of the library, with labels that are no longer than they must be.
func ticks(low, high float64) []plot.Tick {
	all := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range all {
		if t.Label != "" {
			all[i].Label = strconv.FormatFloat(t.Value, 'g', 6, 64)
		}
	}
	return all
}

// ticks are the values that were tried.
func (r *Result) ticks() (all []plot.Tick) {
	for i := range r.Points {
		x := r.Points[i].X
		all = append(all, plot.Tick{Value: r.x(x), Label: strconv.FormatFloat(x*r.kind.of.scale, 'g', 6, 64)})
	}
	return all
}

func add(p *plot.Plot, name string, points plotter.XYs, i int) error {
	l, s, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	l.Color, l.Width = palette[i], vg.Points(1.5)
	s.Color, s.Shape, s.Radius = palette[i], glyphs[i], vg.Points(3)
	p.Add(l, s)
	if name != "" {
		p.Legend.Add(name, l, s)
	}
	return nil
}

// mark draws a line at a value that means something.
func (r *Result) mark(p *plot.Plot) error {
	if r.kind.mark == nil {
		return nil
	}
	x, what := r.kind.mark(&r.base)
	x = r.x(x)
	if x < p.X.Min || x > p.X.Max {
		return nil
	}
	l, err := plotter.NewLine(plotter.XYs{{X: x, Y: p.Y.Min}, {X: x, Y: p.Y.Max}})
	if err != nil {
		return err
	}
	l.Color, l.Dashes = color.Gray{Y: 0x66}, []vg.Length{vg.Points(4), vg.Points(3)}
	p.Add(l)
	p.Legend.Add(what, l)
	return nil
}
