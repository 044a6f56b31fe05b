//! What a fault says of itself, told in the past.

/// Names with commas between them, as people list them: `n1, n2 and n3`.
pub(super) fn listed(names: &str) -> String {
    names.rsplit_once(", ").map_or_else(|| names.to_owned(), |(all, last)| format!("{all} and {last}"))
}

/// The same as [`past`] where processes have such names: what a name holds is a name, whatever its words are.
pub(super) fn past_of(text: &str, names: &[String]) -> String {
    // No name has control characters in it, and no letter of a private use.
    let sign = |place: usize| char::from_u32(0xf_0000 + place as u32).unwrap_or('\u{fffd}');
    let odd = |name: &str| name.contains([' ', ',', ';']);
    let mut odd: Vec<(usize, &String)> = names.iter().enumerate().filter(|(_, name)| odd(name)).collect();
    if odd.is_empty() {
        return past(text.split(';').next().unwrap_or_default());
    }
    // The longest first: one may be a part of another.
    odd.sort_by_key(|(_, name)| std::cmp::Reverse(name.len()));
    let masked =
        odd.iter().fold(text.to_owned(), |text, (place, name)| text.replace(name.as_str(), &sign(*place).to_string()));
    let told = past(masked.split(';').next().unwrap_or_default());
    odd.iter().fold(told, |told, (place, name)| told.replace(sign(*place), name))
}

/// A fault's words as the beginning of a sentence in the past: `n3 was paused`.
pub(super) fn past(text: &str) -> String {
    let text = text.split(" for ").next().unwrap_or(text).split(", back after").next().unwrap_or(text);
    let were = |who: &str| if who.contains(", ") { "were" } else { "was" };
    if let Some((few, many)) = text.split_once(" cut off from ") {
        // Each of them from each other; their names stand on both sides.
        if let Some((one, _)) = few.split_once(" and ").filter(|(one, other)| many == "each other" && one == other) {
            return format!("{} were cut off from each other", listed(one));
        }
        return format!("{} {} cut off from {}", listed(few), were(few), listed(many));
    }
    if let Some(who) = text.strip_suffix(" killed, its data lost") {
        let its = if who.contains(", ") { "their" } else { "its" };
        return format!("{} {} killed and lost {its} data", listed(who), were(who));
    }
    if let Some(((one, other), part)) =
        text.split_once(" loses ").and_then(|(who, part)| Some((who.split_once(" to ")?, part)))
    {
        let whom = if one == other { "to each other".to_owned() } else { format!("to {other}") };
        return format!("{part} of what {one} sent {whom} was lost");
    }
    // Found in this order, and the first that is there.
    const VERBS: [(&str, &str); 17] = [
        (" shows the store ", " showed the store "),
        (" cannot ", " could not "),
        (" killed", " was killed"),
        (" loses ", " lost "),
        (" paused", " was paused"),
        (" confirms cuts that it does ", " confirmed cuts that it did "),
        (" stops machines ", " stopped machines "),
        (" takes ", " took "),
        (" steps by ", " stepped by "),
        (" run at ", " ran at "),
        (" is dropped ", " was dropped "),
        (" asked to ", " was asked to "),
        (" starts, ", " started, "),
        (" is to ", " was to "),
        (" can send ", " could send "),
        ("disk ends", "disk ended"),
        (" hang", " hung"),
    ];
    if let Some((now, past)) = VERBS.iter().find(|(now, _)| text.contains(now)) {
        let several = text.split_once(now).is_some_and(|(who, _)| who.contains(", "));
        return text.replacen(now, &if several { past.replacen(" was ", " were ", 1) } else { (*past).to_owned() }, 1);
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_name_whatever_words_it_has() {
        let names = ["n1", "sync for eu", "cut off from x", "n3, killed"].map(str::to_owned);
        for (now, then) in [
            ("sync for eu cut off from n1, n3 for 2 s", "sync for eu was cut off from n1 and n3"),
            ("n1 cut off from cut off from x for 2 s", "n1 was cut off from cut off from x"),
            ("n3, killed paused for 2 s; dark for 1 s", "n3, killed was paused"),
        ] {
            assert_eq!(past_of(now, &names), then);
        }
        assert_eq!(past_of("n1 paused for 2 s; sync", &names[..1]), "n1 was paused");
    }

    #[test]
    fn what_struck_is_told_in_the_past() {
        for (now, then) in [
            ("n3 paused for 3.5 s", "n3 was paused"),
            ("somebody shows the store a forged token as n2", "somebody showed the store a forged token as n2"),
            ("n3 killed, back after 4 s", "n3 was killed"),
            ("n1 cut off from redis for 11 s", "n1 was cut off from redis"),
            ("n3 cut off from n1, n2, redis", "n3 was cut off from n1, n2 and redis"),
            ("n3, c1 cut off from n1, n2, c2", "n3 and c1 were cut off from n1, n2 and c2"),
            ("n1, n2 and n1, n2 cut off from each other", "n1 and n2 were cut off from each other"),
            ("redis-1 killed, its data lost, back after 4 s", "redis-1 was killed and lost its data"),
            ("a, b, c killed, its data lost, back after 4 s", "a, b and c were killed and lost their data"),
            ("n1 cannot reach n2, n3 for 707 ms", "n1 could not reach n2, n3"),
            ("n1, n2 to n1, n2 loses 13 %", "13 % of what n1, n2 sent to each other was lost"),
            ("n1 to store loses 5 %", "5 % of what n1 sent to store was lost"),
            ("n2's clocks run at +400 ppm for 2 s", "n2's clocks ran at +400 ppm"),
            ("connections between n1 and store hang", "connections between n1 and store hung"),
        ] {
            assert_eq!(past(now), then);
        }
    }
}
