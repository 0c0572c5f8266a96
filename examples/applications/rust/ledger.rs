// A ledger with timers that expire: an outside application of Stampede, with Rust's standard library and no crates.
// Build: rustc --edition 2021 -O ledger.rs. It speaks msgpack, and goes forward only: no feature `forks`, as most chains under ABCI.
//
// A transaction is text: `pay FROM TO AMOUNT`, or `remind NAME AFTER`, which pays NAME one unit after so many slots.
// A block first serves the timers that are due, oldest first: a live one fires, one that is more than TTL slots late is
// dead and is removed. Both have a budget for each block.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};

const TTL: u64 = 20;
const LIVE: u64 = 50;
const DEAD: u64 = 200;

// -- the ledger -----------------------------------------------------------------------------------

#[derive(Clone, Default)]
struct State {
    balances: BTreeMap<String, u64>,
    timers: BTreeMap<(u64, u64), (String, bool)>, // by due and number: name, and whether it was deferred
    set: u64,
}

impl State {
    fn encode(&self) -> Vec<u8> {
        let mut text = format!("{}\n", self.set);
        for (name, amount) in &self.balances {
            text += &format!("balance {name} {amount}\n");
        }
        for ((due, number), (name, deferred)) in &self.timers {
            text += &format!("timer {due} {number} {name} {deferred}\n");
        }
        text.into_bytes()
    }

    fn decode(content: &[u8]) -> State {
        let text = String::from_utf8_lossy(content).into_owned();
        let mut lines = text.lines();
        let mut state = State { set: lines.next().unwrap().parse().unwrap(), ..State::default() };
        for line in lines {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["balance", name, amount] => {
                    state.balances.insert(name.into(), amount.parse().unwrap());
                }
                ["timer", due, number, name, deferred] => {
                    let place = (due.parse().unwrap(), number.parse().unwrap());
                    state.timers.insert(place, (name.into(), deferred == "true"));
                }
                _ => panic!("a line of the state is wrong: {line}"),
            }
        }
        state
    }

    fn root(&self) -> Value {
        Value::Bytes(sha256(&self.encode()))
    }

    // Serve the timers that are due and run the transactions; return the events, or the transaction that is none.
    fn run(&mut self, now: u64, payload: &[Vec<u8>]) -> Result<Vec<Value>, String> {
        let (mut events, mut live, mut dead) = (Vec::new(), LIVE, DEAD);
        let due: Vec<(u64, u64)> = self.timers.range(..=(now, u64::MAX)).map(|(place, _)| *place).collect();
        for place in due {
            let is_dead = now > place.0 + TTL;
            let left = if is_dead { &mut dead } else { &mut live };
            let timer = ("timer", Value::Text(place.1.to_string()));
            if *left == 0 {
                let deferred = &mut self.timers.get_mut(&place).unwrap().1;
                if !*deferred {
                    events.push(map(vec![("event", text("timer-deferred")), timer]));
                }
                *deferred = true;
                continue;
            }
            *left -= 1;
            let (name, _) = self.timers.remove(&place).unwrap();
            if is_dead {
                events.push(map(vec![("event", text("timer-removed")), timer, ("why", text("expired"))]));
            } else {
                *self.balances.entry(name).or_default() += 1;
                events.push(map(vec![("event", text("timer-fired")), timer]));
            }
        }
        for content in payload {
            let transaction = String::from_utf8_lossy(content).into_owned();
            match parse(&transaction) {
                Some(("pay", from, to, amount)) => {
                    let amount = amount.min(*self.balances.get(from).unwrap_or(&0));
                    *self.balances.entry(from.into()).or_default() -= amount;
                    *self.balances.entry(to.into()).or_default() += amount;
                }
                Some((_, name, _, after)) => {
                    self.set += 1;
                    let due = now + after.max(1);
                    self.timers.insert((due, self.set), (name.into(), false));
                    let timer = Value::Text(self.set.to_string());
                    events.push(map(vec![("event", text("timer-set")), ("timer", timer), ("due", Value::Number(due))]));
                }
                None => return Err(format!("{transaction:?} is no transaction")),
            }
        }
        Ok(events)
    }
}

fn parse(transaction: &str) -> Option<(&str, &str, &str, u64)> {
    let words: Vec<&str> = transaction.split(' ').collect();
    let number = |word: &str| if word.len() < 10 { word.parse::<u64>().ok() } else { None };
    match words[..] {
        ["pay", from, to, amount] => Some(("pay", from, to, number(amount)?)),
        ["remind", name, after] => Some(("remind", name, "", number(after)?)),
        _ => None,
    }
}

// -- the calls ------------------------------------------------------------------------------------

#[derive(Default)]
struct Ledger {
    directory: String,
    tip: Vec<u8>,      // the block at which `state` stands
    height: u64,
    state: State,
    proposed: State,   // forgotten at the next proposal unless it is adopted
    answered: Value,   // the answer of the tip, which may be asked for again
}

impl Ledger {
    fn keep(&self) {
        let content = [&self.height.to_le_bytes()[..], &self.tip, &self.state.encode()].concat();
        fs::write(format!("{}/next", self.directory), content).unwrap();
        fs::rename(format!("{}/next", self.directory), format!("{}/final", self.directory)).unwrap();
    }

    fn answer(&mut self, ask: &Value) -> Value {
        match ask.get("call").as_text() {
            "hello" => {
                self.directory = ask.get("directory").as_text().into();
                let mut said = vec![("name", text("ledger")), ("version", text("1")), ("order", text("fifo"))];
                said.push(("features", Value::List(vec![text("entries"), text("transactions")])));
                said.extend([("live_per_block", Value::Number(LIVE)), ("dead_per_block", Value::Number(DEAD))]);
                if ask.get("resume").is_true() {
                    match fs::read(format!("{}/final", self.directory)) {
                        Err(_) => said.push(("height", Value::Nothing)),
                        Ok(content) => {
                            self.height = u64::from_le_bytes(content[..8].try_into().unwrap());
                            self.tip = content[8..40].into();
                            self.state = State::decode(&content[40..]);
                            said.push(("height", Value::Number(self.height)));
                            said.extend([("id", Value::Bytes(self.tip.clone())), ("root", self.state.root())]);
                        }
                    }
                }
                map(said)
            }
            "genesis" => {
                self.proposed.balances.insert("alice".into(), 1_000_000_000);
                map(vec![("root", self.proposed.root()), ("events", Value::List(vec![]))])
            }
            "adopted" => {
                self.tip = ask.get("id").as_bytes();
                self.height = ask.get("header").get("height").as_number();
                self.state = self.proposed.clone();
                if self.height == 0 {
                    self.keep();
                }
                map(vec![])
            }
            "propose" => {
                let offered = ask.get("transactions").as_list();
                let is_sound = |each: &Vec<u8>| parse(&String::from_utf8_lossy(each)).is_some();
                let payload: Vec<Vec<u8>> = offered.into_iter().filter(is_sound).collect();
                self.proposed = self.state.clone();
                let events = self.proposed.run(ask.get("header").get("slot").as_number(), &payload).unwrap();
                self.answered = map(vec![("root", self.proposed.root()), ("events", Value::List(events))]);
                let mut said = self.answered.clone();
                said.put("payload", Value::List(payload.into_iter().map(Value::Bytes).collect()));
                said
            }
            "execute" => {
                if ask.get("id").as_bytes() == self.tip {
                    return self.answered.clone();
                }
                let mut state = self.state.clone();
                match state.run(ask.get("header").get("slot").as_number(), &ask.get("payload").as_list()) {
                    Err(reason) => map(vec![("invalid", Value::Text(reason))]),
                    Ok(events) => {
                        self.answered = map(vec![("root", state.root()), ("events", Value::List(events))]);
                        self.tip = ask.get("id").as_bytes();
                        self.height = ask.get("header").get("height").as_number();
                        self.state = state;
                        self.answered.clone()
                    }
                }
            }
            "finalize" => {
                self.keep();
                map(vec![])
            }
            "entries" => {
                let mut pairs: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
                for (name, amount) in &self.state.balances {
                    pairs.insert(format!("balance {name}").into_bytes(), amount.to_string().into_bytes());
                }
                for ((due, number), (name, _)) in &self.state.timers {
                    pairs.insert(format!("timer {number:09}").into_bytes(), format!("{due} {name}").into_bytes());
                }
                let after = ask.get("after").as_bytes();
                let limit = ask.get("limit").as_number() as usize;
                let pair = |(key, value)| Value::List(vec![Value::Bytes(key), Value::Bytes(value)]);
                let found = pairs.into_iter().filter(|(key, _)| *key > after).take(limit).map(pair).collect();
                map(vec![("entries", Value::List(found))])
            }
            "transactions" => {
                let made = (0..ask.get("count").as_number()).map(|number| {
                    let drawn = sha256(&[&ask.get("chance").as_bytes()[..], &number.to_le_bytes()].concat());
                    let (name, amount) = (["bob", "carol", "dave"][drawn[0] as usize % 3], 1 + drawn[1] % 30);
                    let pay = format!("pay alice {name} {amount}");
                    let said = if drawn[2] % 2 == 1 { pay } else { format!("remind {name} {amount}") };
                    Value::Bytes(said.into_bytes())
                });
                map(vec![("transactions", Value::List(made.collect()))])
            }
            _ => map(vec![]),
        }
    }
}

fn main() {
    let (mut input, mut output) = (std::io::stdin(), std::io::stdout());
    let (mut ledger, mut length) = (Ledger::default(), [0u8; 4]);
    while input.read_exact(&mut length).is_ok() {
        let mut frame = vec![0u8; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut frame).unwrap();
        let ask = Value::read(&mut &frame[..]);
        let mut answer = ledger.answer(&ask);
        answer.put("n", ask.get("n").clone());
        let mut content = Vec::new();
        answer.write(&mut content);
        output.write_all(&(content.len() as u32).to_le_bytes()).unwrap();
        output.write_all(&content).unwrap();
        output.flush().unwrap();
    }
}

// -- msgpack, as far as the protocol needs it -----------------------------------------------------

#[derive(Clone, Default)]
enum Value {
    #[default]
    Nothing,
    Truth(bool),
    Number(u64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

fn text(content: &str) -> Value {
    Value::Text(content.into())
}

fn map(fields: Vec<(&str, Value)>) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

fn take(from: &mut &[u8], count: usize) -> Vec<u8> {
    let (first, rest) = from.split_at(count);
    *from = rest;
    first.to_vec()
}

fn number(from: &mut &[u8], bytes: usize) -> u64 {
    take(from, bytes).iter().fold(0, |sum, byte| sum << 8 | *byte as u64)
}

impl Value {
    fn get(&self, name: &str) -> &Value {
        match self {
            Value::Map(fields) => fields.iter().find(|(each, _)| each == name).map_or(&Value::Nothing, |(_, value)| value),
            _ => &Value::Nothing,
        }
    }

    fn put(&mut self, name: &str, value: Value) {
        if let Value::Map(fields) = self {
            fields.push((name.into(), value));
        }
    }

    fn as_text(&self) -> &str {
        if let Value::Text(content) = self { content } else { panic!("text was expected") }
    }

    fn as_number(&self) -> u64 {
        if let Value::Number(value) = self { *value } else { panic!("a number was expected") }
    }

    fn as_bytes(&self) -> Vec<u8> {
        if let Value::Bytes(content) = self { content.clone() } else { panic!("bytes were expected") }
    }

    fn as_list(&self) -> Vec<Vec<u8>> {
        if let Value::List(values) = self { values.iter().map(Value::as_bytes).collect() } else { panic!("a list was expected") }
    }

    fn is_true(&self) -> bool {
        matches!(self, Value::Truth(true))
    }

    fn read(from: &mut &[u8]) -> Value {
        let string = |content: Vec<u8>| Value::Text(String::from_utf8(content).unwrap());
        let code = take(from, 1)[0];
        match code {
            0x00..=0x7f => Value::Number(code as u64),
            0x80..=0x8f => Value::fields(from, (code & 15) as usize),
            0x90..=0x9f => Value::values(from, (code & 15) as usize),
            0xa0..=0xbf => string(take(from, (code & 31) as usize)),
            0xc0 => Value::Nothing,
            0xc2 | 0xc3 => Value::Truth(code == 0xc3),
            0xc4..=0xc6 => {
                let length = number(from, 1 << (code - 0xc4)) as usize;
                Value::Bytes(take(from, length))
            }
            0xcc..=0xcf => Value::Number(number(from, 1 << (code - 0xcc))),
            0xd9..=0xdb => {
                let length = number(from, 1 << (code - 0xd9)) as usize;
                string(take(from, length))
            }
            0xdc | 0xdd => {
                let length = number(from, 2 << (code - 0xdc)) as usize;
                Value::values(from, length)
            }
            0xde | 0xdf => {
                let length = number(from, 2 << (code - 0xde)) as usize;
                Value::fields(from, length)
            }
            _ => panic!("a value of kind {code:#x} was not expected"),
        }
    }

    fn values(from: &mut &[u8], length: usize) -> Value {
        Value::List((0..length).map(|_| Value::read(from)).collect())
    }

    fn fields(from: &mut &[u8], length: usize) -> Value {
        let field = |from: &mut &[u8]| (Value::read(from).as_text().to_string(), Value::read(from));
        Value::Map((0..length).map(|_| field(from)).collect())
    }

    // The longest form of each length is as good as the shortest one.
    fn write(&self, to: &mut Vec<u8>) {
        let mut head = |code: u8, length: usize| {
            to.push(code);
            to.extend((length as u32).to_be_bytes());
        };
        match self {
            Value::Nothing => to.push(0xc0),
            Value::Truth(value) => to.push(0xc2 + *value as u8),
            Value::Number(value) => {
                to.push(0xcf);
                to.extend(value.to_be_bytes());
            }
            Value::Text(content) => {
                head(0xdb, content.len());
                to.extend(content.as_bytes());
            }
            Value::Bytes(content) => {
                head(0xc6, content.len());
                to.extend(content);
            }
            Value::List(values) => {
                head(0xdd, values.len());
                values.iter().for_each(|value| value.write(to));
            }
            Value::Map(fields) => {
                head(0xdf, fields.len());
                for (name, value) in fields {
                    Value::Text(name.clone()).write(to);
                    value.write(to);
                }
            }
        }
    }
}

// -- SHA-256 --------------------------------------------------------------------------------------

fn sha256(content: &[u8]) -> Vec<u8> {
    // The constants are the fractions of the roots of the first primes, worked out in whole numbers.
    let primes: Vec<u128> = (2u128..).filter(|n| (2..*n).all(|d| n % d > 0)).take(64).collect();
    let root = |prime: u128, power: u32| {
        let target = prime << (32 * power);
        let (mut low, mut high) = (0u128, 1u128 << 37);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle.checked_pow(power).map_or(true, |value| value > target) { high = middle } else { low = middle }
        }
        low as u32
    };
    let k: Vec<u32> = primes.iter().map(|prime| root(*prime, 3)).collect();
    let mut hash: Vec<u32> = primes[..8].iter().map(|prime| root(*prime, 2)).collect();
    let mut padded = content.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).div_ceil(64) * 64 - 8, 0);
    padded.extend((content.len() as u64 * 8).to_be_bytes());
    for chunk in padded.chunks(64) {
        let mut w: Vec<u32> = chunk.chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = hash.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let first = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let second = s0.wrapping_add((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            v = vec![first.wrapping_add(second), v[0], v[1], v[2], v[3].wrapping_add(first), v[4], v[5], v[6]];
        }
        hash = hash.iter().zip(v).map(|(a, b)| a.wrapping_add(b)).collect();
    }
    hash.iter().flat_map(|word| word.to_be_bytes()).collect()
}
