//! The terminal as a screen of its own: taken over, listened to, and given back however this ends.

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How long it may take to notice that nobody listens any more.
const POLL: Duration = Duration::from_millis(100);

/// What the user has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    /// Asked to quit.
    Quit,
    /// Changed the size of the terminal.
    Resized,
}

/// A terminal that was taken over.
pub struct Screen {
    terminal: DefaultTerminal,
    done: UnboundedReceiver<Done>,
    over: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over. A panic gives it back as well.
    ///
    /// # Errors
    /// It cannot be had.
    pub fn open() -> io::Result<Screen> {
        let terminal = ratatui::try_init()?;
        let (tell, done) = unbounded_channel();
        let over = Arc::new(AtomicBool::new(false));
        let listening = over.clone();
        std::thread::spawn(move || listen(&tell, &listening));
        Ok(Screen { terminal, done, over })
    }

    /// Draws.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(picture).map(drop)
    }

    /// What the user does next; to be asked again.
    pub async fn next(&mut self) -> Done {
        match self.done.recv().await {
            Some(done) => done,
            // Without a keyboard there are signals.
            None => std::future::pending().await,
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        ratatui::restore();
    }
}

fn meaning(event: &Event) -> Option<Done> {
    match event {
        Event::Resize(..) => Some(Done::Resized),
        Event::Key(key) if key.kind != KeyEventKind::Release => match key.code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Done::Quit),
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Done::Quit),
            _ => None,
        },
        _ => None,
    }
}

fn listen(tell: &UnboundedSender<Done>, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let event = match event::poll(POLL) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let Ok(event) = event else { return };
        if meaning(&event).is_some_and(|done| tell.send(done).is_err()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::KeyEvent;

    #[test]
    fn q_escape_and_control_c_quit() {
        let key = |code, modifiers| Event::Key(KeyEvent::new(code, modifiers));
        let (none, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        for quits in [key(KeyCode::Char('q'), none), key(KeyCode::Esc, none), key(KeyCode::Char('c'), control)] {
            assert_eq!(meaning(&quits), Some(Done::Quit), "{quits:?}");
        }
        for nothing in [key(KeyCode::Char('c'), none), key(KeyCode::Enter, none), Event::FocusLost] {
            assert_eq!(meaning(&nothing), None, "{nothing:?}");
        }
        assert_eq!(meaning(&Event::Resize(80, 24)), Some(Done::Resized));
    }
}
