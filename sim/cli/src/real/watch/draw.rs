//! The dashboard: a fleet on a terminal's screen.

use super::{
    fleet::{Fleet, Mark, StoreMark, seconds, time_of_day},
    look::{Look, NodeLook, Resource},
    news::{Weight, leaders_text},
};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Color, Modifier, Style},
    text::{Line, Span},
    widgets::{Block, Borders, Cell, Paragraph, Row, Table},
};
use reports::text::wrap;

/// The least width with room for the nodes' addresses.
const WIDE: u16 = 110;
/// Below this width the store's table has only its most important columns: a truncated number would be another number.
const NARROW: u16 = 76;
/// Width of a lane's name.
const LANE_NAME: usize = 10;

/// Painting with or without colours.
#[derive(Clone, Copy)]
pub struct Paint {
    /// True if the user wants colours.
    pub colour: bool,
}

impl Paint {
    fn style(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn weight(self, weight: Weight) -> Style {
        match weight {
            Weight::Calm => self.style(Color::Green),
            Weight::News => Style::new(),
            Weight::Trouble => self.style(Color::Yellow).add_modifier(Modifier::BOLD),
            // It must stand out without colours, too.
            Weight::Alarm => self.style(Color::Red).add_modifier(Modifier::BOLD | Modifier::REVERSED),
        }
    }

    fn mark(self, mark: Mark) -> Style {
        match mark {
            Mark::Acts => self.style(Color::Green),
            Mark::Believes | Mark::Stands => self.style(Color::Yellow),
            Mark::Follows => Style::new().add_modifier(Modifier::DIM),
            Mark::Silent => self.style(Color::Red),
        }
    }

    fn store_mark(self, mark: StoreMark) -> Style {
        match mark {
            StoreMark::Accepted => self.style(Color::Green),
            StoreMark::Refused => self.style(Color::Yellow),
            StoreMark::Stale => self.style(Color::Red).add_modifier(Modifier::BOLD | Modifier::REVERSED),
            StoreMark::Idle | StoreMark::Silent => Style::new().add_modifier(Modifier::DIM),
        }
    }
}

/// Draws as much as fits: the current state first, past events last.
pub fn draw(frame: &mut Frame, fleet: &Fleet, interval_ms: u64, paint: Paint) {
    let Some(look) = fleet.last() else {
        frame.render_widget(Paragraph::new("Looking …"), frame.area());
        return;
    };
    let nodes = look.nodes.len() as u16;
    let resources = look.resources().len().max(1) as u16;
    let [top, node_area, store_area, lanes, news] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(nodes + 2),
        Constraint::Length(resources + 3),
        // If there is no room for both, news is worth more than lanes.
        Constraint::Max(nodes + 3),
        Constraint::Fill(1),
    ])
    .areas(frame.area());
    draw_top(frame, top, fleet, interval_ms, paint);
    draw_nodes(frame, node_area, fleet, &look.nodes, paint);
    draw_store(frame, store_area, fleet, paint);
    draw_lanes(frame, lanes, fleet, interval_ms, paint);
    draw_news(frame, news, fleet, paint);
}

fn titled(title: String) -> Block<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    Block::new().borders(Borders::TOP).title(Span::styled(format!(" {title} "), bold))
}

fn draw_top(frame: &mut Frame, area: Rect, fleet: &Fleet, interval_ms: u64, paint: Paint) {
    let at_ms = fleet.last().map_or(0, |look| look.at_ms);
    let title = format!("fencepost watch   {} UTC, every {}", time_of_day(at_ms), seconds(interval_ms));
    let quits = "q quits";
    let gap = usize::from(area.width).saturating_sub(title.chars().count() + quits.len());
    let (weight, text) = fleet.headline();
    let sign = if weight >= Weight::Trouble { "! " } else { "✓ " };
    let mut lines = vec![Line::raw(format!("{title}{}{quits}", " ".repeat(gap)))];
    let room = usize::from(area.width).saturating_sub(2);
    lines.extend(wrap(&text, room).into_iter().enumerate().map(|(n, line)| {
        let sign = if n == 0 { sign } else { "  " };
        Line::styled(format!("{sign}{line}"), paint.weight(weight))
    }));
    frame.render_widget(Paragraph::new(lines), area);
}

fn rate_text(rate: Option<f64>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}"))
}

fn right(text: String, width: usize) -> Cell<'static> {
    Cell::from(format!("{text:>width$}"))
}

fn node_row(fleet: &Fleet, node: &NodeLook, wide: bool, paint: Paint) -> Row<'static> {
    let mark = fleet.marks(&node.name, 1).first().copied().unwrap_or(Mark::Silent);
    let mut cells = vec![Cell::from(format!("{} {}", mark.sign(), node.name))];
    if wide {
        cells.push(Cell::from(node.address.clone()));
    }
    let counts = node.counts.clone().unwrap_or_default();
    match &node.status {
        None => {
            let why = node.silence.clone().unwrap_or_default();
            let empty = || Cell::from("");
            cells.extend([Cell::from("silent"), empty(), empty(), empty(), empty(), Cell::from(why)]);
        }
        Some(status) => {
            let token = match status.fence_token {
                Some(0) => "none".to_owned(),
                Some(token) => token.to_string(),
                None => String::new(),
            };
            let left = status.lease_ttl_remaining_ms.map_or_else(String::new, seconds);
            let role = if status.leads() && status.acting { "leader" } else { &status.role };
            let role = if status.leads() && !status.acting { "believes" } else { role };
            let why = status.reason.clone().or(status.leader.clone().filter(|_| !status.leads()).map(follows));
            cells.extend([
                Cell::from(role.to_owned()),
                right(token, 8),
                right(left, 10),
                right(rate_text(fleet.node_writes_per_s(&node.name)), 8),
                right(counts.refused.to_string(), 7),
                Cell::from(why.unwrap_or_default()),
            ]);
        }
    }
    let row = Row::new(cells);
    if mark == Mark::Follows { row } else { row.style(paint.mark(mark)) }
}

fn follows(leader: String) -> String {
    format!("follows {leader}")
}

fn draw_nodes(frame: &mut Frame, area: Rect, fleet: &Fleet, nodes: &[NodeLook], paint: Paint) {
    let wide = area.width >= WIDE;
    let mut head = vec!["  node"];
    let mut widths = vec![Constraint::Length(LANE_NAME as u16)];
    if wide {
        head.push("address");
        widths.push(Constraint::Length(22));
    }
    head.extend(["role", "   token", "lease left", "writes/s", "refused", ""]);
    widths.extend([9, 8, 10, 8, 7].map(Constraint::Length));
    widths.push(Constraint::Fill(1));
    let rows = nodes.iter().map(|node| node_row(fleet, node, wide, paint));
    let head = Row::new(head).style(Style::new().add_modifier(Modifier::DIM));
    let table = Table::new(rows, widths).header(head).block(titled("Nodes: what each says of itself".to_owned()));
    frame.render_widget(table, area);
}

/// The columns of the store's table that fit.
fn that_fit<T>(all: [T; 7], narrow: bool) -> impl Iterator<Item = T> {
    let essential = move |(place, _): &(usize, T)| !narrow || [0, 1, 4, 5].contains(place);
    all.into_iter().enumerate().filter(essential).map(|(_, one)| one)
}

fn resource_row(fleet: &Fleet, resource: &Resource, narrow: bool, paint: Paint) -> Row<'static> {
    let rate = |count: fn(&Resource) -> u64| rate_text(fleet.resource_per_s(&resource.name, count));
    let refused = Style::new();
    let refused = if resource.refused > 0 { paint.weight(Weight::Trouble) } else { refused };
    let cells = [
        Cell::from(format!("  {}", resource.name)),
        right(resource.highest_token.to_string(), 9),
        right(resource.last_seq.to_string(), 11),
        right(resource.accepted.to_string(), 10),
        right(rate(|r| r.accepted), 8),
        right(resource.refused.to_string(), 8).style(refused),
        right(rate(|r| r.refused), 9),
    ];
    Row::new(that_fit(cells, narrow))
}

fn draw_store(frame: &mut Frame, area: Rect, fleet: &Fleet, paint: Paint) {
    let block = titled("Store: what took effect".to_owned());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let Some(store) = fleet.last().and_then(|look| look.store.as_ref()) else {
        let text = "Not asked, so nobody knows here who takes effect: give --store-metrics HOST:PORT";
        return frame.render_widget(Paragraph::new(format!("  {text}")), inner);
    };
    let Some(figures) = &store.figures else {
        let why = store.silence.clone().unwrap_or_default();
        let text = format!("× {} is silent: {why}", store.address);
        return frame.render_widget(Paragraph::new(text).style(paint.weight(Weight::Trouble)), inner);
    };
    let [first, table] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(inner);
    let (at_once, stale) = (figures.leaders_acting, figures.stale_accepted);
    let latest = figures.leaders.first().map_or_else(
        || "nobody took effect in the last 10 s".to_owned(),
        |_| format!("took effect: {}", leaders_text(figures)),
    );
    let ago = figures.leaders.first().map(|latest| format!("; last write {} ago", seconds(latest.accepted_ms_ago)));
    let stale_text = match stale {
        0 => String::new(),
        1 => "; 1 stale write accepted".to_owned(),
        _ => format!("; {stale} stale writes accepted"),
    };
    let weight = if at_once > 1 || stale > 0 { Weight::Alarm } else { Weight::Calm };
    let mut line = Line::from(vec![
        Span::raw("  "),
        Span::styled(format!("{at_once} at once"), paint.weight(weight)),
        Span::raw(format!("{stale_text}; {latest}")),
    ]);
    // A sentence that does not fit is left out, not truncated.
    let room = usize::from(first.width).saturating_sub(line.width());
    line.extend(ago.filter(|ago| ago.len() <= room).map(Span::raw));
    frame.render_widget(Paragraph::new(line), first);
    let head = ["  resource", "   token", "last number", "  accepted", "writes/s", " refused", "refused/s"];
    let narrow = area.width < NARROW;
    let head = Row::new(that_fit(head, narrow)).style(Style::new().add_modifier(Modifier::DIM));
    let resources = fleet.last().map(Look::resources).unwrap_or_default();
    let rows = resources.into_iter().map(|resource| resource_row(fleet, resource, narrow, paint));
    let widths = [14, 9, 11, 10, 8, 8, 9].map(Constraint::Length);
    frame.render_widget(Table::new(rows, that_fit(widths, narrow)).header(head), table);
}

fn lane<M: Copy>(name: &str, marks: &[M], sign: fn(M) -> char, style: impl Fn(M) -> Style) -> Line<'static> {
    let mut spans = vec![Span::raw(format!("  {name:<width$}", width = LANE_NAME - 2))];
    spans.extend(marks.iter().map(|mark| Span::styled(sign(*mark).to_string(), style(*mark))));
    Line::from(spans)
}

fn draw_lanes(frame: &mut Frame, area: Rect, fleet: &Fleet, interval_ms: u64, paint: Paint) {
    let Some(look) = fleet.last() else { return };
    let width = usize::from(area.width).saturating_sub(LANE_NAME + 1);
    let title = format!("The last {}: █ acts  ▒ believes  · follows  ? no leader  × silent", {
        seconds(interval_ms.saturating_mul(width as u64))
    });
    let mut lines: Vec<Line> = look
        .nodes
        .iter()
        .map(|node| lane(&node.name, &fleet.marks(&node.name, width), Mark::sign, |mark| paint.mark(mark)))
        .collect();
    let store = fleet.store_marks(width);
    let mut store_lane = lane("store", &store, StoreMark::sign, |mark| paint.store_mark(mark));
    if store.len() + 50 < width {
        store_lane.push_span(Span::raw("   ┃ accepted  ✗ refused  ! stale and accepted"));
    }
    lines.push(store_lane);
    frame.render_widget(Paragraph::new(lines).block(titled(title)), area);
}

fn draw_news(frame: &mut Frame, area: Rect, fleet: &Fleet, paint: Paint) {
    let (rows, width) = (usize::from(area.height).saturating_sub(1), usize::from(area.width).saturating_sub(12));
    let mut lines: Vec<Line> = Vec::new();
    for news in fleet.news().rev() {
        if lines.len() >= rows {
            break;
        }
        // Lines are collected bottom-up, so the wrapped lines of an event are pushed in reverse.
        for (n, text) in wrap(&news.text, width.max(20)).into_iter().enumerate().collect::<Vec<_>>().into_iter().rev() {
            let time = if n == 0 { time_of_day(news.at_ms) } else { String::new() };
            let style = if news.weight == Weight::Calm { Style::new() } else { paint.weight(news.weight) };
            lines.push(Line::from(vec![Span::raw(format!("  {time:<8}  ")), Span::styled(text, style)]));
        }
    }
    lines.truncate(rows);
    lines.reverse();
    frame.render_widget(Paragraph::new(lines).block(titled("What happened".to_owned())), area);
}
