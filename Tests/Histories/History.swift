/// A step of a history, with its choices. Many steps name an earlier step by its number. If the history lacks the
/// earlier step, such a step does nothing.
struct Step: Sendable, Hashable {
    enum Kind: String, Sendable, CaseIterable {
        // These steps happen at Apple.
        case buy, restore, renew, fail, upgrade, prefer, turn, convert, extend, expire, refund, reverse, request
        // These steps happen on a device, and at the game server.
        case take, submit, again, bind, crowd, report
        // This step delivers Apple's late notifications to the broker.
        case deliver
        // These steps let time pass, by the history's calendar or by the clock.
        case wait, pause, settle
        // These steps disturb workers, Apple, the database and the broker.
        case kill, freeze, worker, stop, apple, spoil, hide, keep, putBack, cut, hang, broker, hopeless, demand, away,
            limit
        // These steps are operators' acts.
        case release, refuse, revoke, reinstate, rewind, transfer, catalog, erase, redrive
    }

    let number: Int
    let kind: Kind
    var choices: [String: Int]

    subscript(name: String) -> Int { choices[name] ?? 0 }

    /// The step as a line of text: `7 buy account=2 product=1`.
    var text: String {
        let named = choices.sorted { $0.key < $1.key }.filter { $0.value != 0 }.map { "\($0.key)=\($0.value)" }
        return (["\(number)", kind.rawValue] + named).joined(separator: " ")
    }

    init(_ number: Int, _ kind: Kind, _ choices: [String: Int] = [:]) {
        self.number = number
        self.kind = kind
        self.choices = choices
    }

    /// Returns nil if the line is not a step.
    init?(line: some StringProtocol) {
        let words = line.split(separator: " ")
        guard words.count >= 2, let number = Int(words[0]), let kind = Kind(rawValue: String(words[1])) else {
            return nil
        }
        var choices: [String: Int] = [:]
        for word in words.dropFirst(2) {
            let parts = word.split(separator: "=")
            guard parts.count == 2, let value = Int(parts[1]) else { return nil }
            choices[String(parts[0])] = value
        }
        self.init(number, kind, choices)
    }
}

/// The settings of a world, and the steps that the world plays. The steps may be random or come from a file.
struct History: Sendable {
    /// The settings of the world:
    ///
    /// | setting | means |
    /// | --- | --- |
    /// | `startDays` | the days between the history's start and the present |
    /// | `slow` | 1 if requests to Apple time out after 10 s and not after 2 s |
    /// | `window` | the number of places for submissions in flight |
    /// | `history` | 1 if the worker reads Apple's notification history |
    /// | `since` | the seconds after the start from which the worker grants missed purchases instead of listing them |
    /// | `terms` | the `CatalogTerms` of the first catalog |
    var world: [String: Int] = [:]
    var steps: [Step] = []
    /// The features of a random history; empty for a history from a file.
    var features: Set<Feature> = []

    /// The history as the text of a file. A line that begins with `#` is a comment.
    var text: String {
        let world = self.world.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        return (["world \(world)"] + steps.map(\.text)).joined(separator: "\n") + "\n"
    }

    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    init() {}

    init(text: String) throws {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("world") {
                for word in line.split(separator: " ").dropFirst() {
                    let parts = word.split(separator: "=")
                    guard parts.count == 2, let value = Int(parts[1]) else {
                        throw Fault(description: "no choice: \(word)")
                    }
                    world[String(parts[0])] = value
                }
            } else {
                guard let step = Step(line: line) else { throw Fault(description: "no step: \(line)") }
                steps.append(step)
            }
        }
    }
}

/// SplitMix64 (https://prng.di.unimi.it/splitmix64.c). Equal seeds and numbers make equal histories.
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64, number: Int) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(number) &* 0xD1B5_4A32_D192_ED03
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &self) }
    mutating func percent(_ share: Int) -> Bool { below(100) < share }
    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}
