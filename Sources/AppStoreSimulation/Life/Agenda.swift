/// The future events of a `SimulatedLife`, soonest first. Events that are due at the same time keep the order in which
/// they were added.
struct Agenda: Sendable {
    enum Event: Sendable, Hashable {
        case visit(player: Int)
        /// A subscription period (the time that one payment covers) ends. The text is the period's transaction id.
        case periodEnds(String)
        /// Apple tries again to charge for a subscription. The text is the transaction id of the last paid period.
        case retry(String)
        case graceEnds(String)
        case giveUp(String)
        case refundDecided(String)
        case disputeDecided(String)
    }

    private struct Entry: Sendable {
        let at: Int64
        let number: Int
        let event: Event

        func precedes(_ other: Entry) -> Bool { (at, number) < (other.at, other.number) }
    }

    /// A binary heap, whose first entry is the next event.
    private var entries: [Entry] = []
    private var lastNumber = 0

    var next: Int64? { entries.first?.at }

    mutating func add(_ event: Event, at time: Int64) {
        lastNumber += 1
        entries.append(Entry(at: time, number: lastNumber, event: event))
        var child = entries.count - 1
        while child > 0, entries[child].precedes(entries[(child - 1) / 2]) {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func take() -> Event? {
        guard let first = entries.first, let last = entries.popLast() else { return nil }
        guard !entries.isEmpty else { return first.event }
        entries[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            var least = parent
            for child in [left, left + 1] where child < entries.count && entries[child].precedes(entries[least]) {
                least = child
            }
            guard least != parent else { return first.event }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
