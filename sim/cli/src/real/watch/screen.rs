//! Full-screen use of the terminal: takes it over, reads its keys, and always restores it.

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

/// The longest time until the input thread notices that nobody listens any more.
const POLL: Duration = Duration::from_millis(100);

/// A user's action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Done {
    Quit,
    Resized,
}

/// A terminal in full-screen mode.
pub struct Screen {
    terminal: DefaultTerminal,
    done: UnboundedReceiver<Done>,
    over: Arc<AtomicBool>,
}

impl Screen {
    /// Takes the terminal over. A panic restores it as well.
    ///
    /// # Errors
    /// The terminal is not available.
    pub fn open() -> io::Result<Screen> {
        let terminal = ratatui::try_init()?;
        let (tell, done) = unbounded_channel();
        let over = Arc::new(AtomicBool::new(false));
        let listening = over.clone();
        std::thread::spawn(move || listen(&tell, &listening));
        Ok(Screen { terminal, done, over })
    }

    /// Draws one frame.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame)) -> io::Result<()> {
        self.terminal.draw(picture).map(drop)
    }

    /// The user's next action. Cancel safe.
    pub async fn next(&mut self) -> Done {
        match self.done.recv().await {
            Some(done) => done,
            // Without a keyboard, signals still end the program.
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
