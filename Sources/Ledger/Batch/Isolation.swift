/// A writer's entries in groups, one SQL transaction for each group. A group that keeps failing in the same way is
/// halved until the entry at fault is alone, and the other groups go on meanwhile. An entry is at fault if it fails
/// alone while others are committed. While nothing is committed, a failing entry is only tried again.
struct Isolation<Entry> {
    typealias Instant = ContinuousClock.Instant

    struct Group {
        fileprivate(set) var entries: [Entry]
        var lookUp = DecisionBatchWrite.LookUp.underOldClaims
        /// True for a half of a group that failed: its next failure halves it again.
        fileprivate var isPart = false
        fileprivate var readyAt: Instant?
        fileprivate var failures = 0
        fileprivate var lastCause: FailureCause?
        /// The ledger's number of commits at the last failure as a single entry; nil before.
        fileprivate var commits: Int?
        /// The number of failures that came after commits of others.
        fileprivate var failuresAmongCommits = 0

        fileprivate init(_ entries: [Entry]) {
            self.entries = entries
        }
    }

    enum Advice: Equatable {
        /// The entries are tried again, behind the other groups.
        case goOn
        /// The group is a single entry at fault, and was taken out.
        case setAside
    }

    /// The number of equal failures after which a whole batch is halved: some causes end by themselves.
    static var failuresBeforeHalving: Int { 3 }
    /// The number of failures of a single entry, each after commits of others, that prove it at fault.
    static var failuresOfCulprit: Int { 3 }
    /// The seconds between two tries of a group, doubling from the shortest delay to the longest.
    static var shortestDelay: Double { 0.1 }
    static var longestDelay: Double { 2 }
    /// The longest delay of a single failing entry, in seconds: each try may cost the others a time-out.
    static var longestDelayOfOne: Double { 30 }
    /// The most other groups that overtake a part before its turn, however fast they come.
    static var mostBeforePart: Int { 4 }

    private var groups: [Group]
    /// The number of other groups since a part last had its turn.
    private var othersSincePart = 0

    init(_ entries: [Entry]) {
        groups = entries.isEmpty ? [] : [Group(entries)]
    }

    var isEmpty: Bool { groups.isEmpty }
    var count: Int { groups.reduce(0) { $0 + $1.entries.count } }
    var all: [Entry] { groups.flatMap(\.entries) }
    /// True while parts of a batch wait for tries of their own. New entries must not wait for them.
    var isIsolating: Bool { groups.contains(where: \.isPart) }

    /// Takes out the first group that may be tried now. Returns nil if all groups must wait.
    mutating func next(now: Instant) -> Group? {
        let ready = groups.indices.filter { (groups[$0].readyAt ?? now) <= now }
        let part = othersSincePart >= Self.mostBeforePart ? ready.first { groups[$0].isPart } : nil
        guard let index = part ?? ready.first else { return nil }
        let group = groups.remove(at: index)
        othersSincePart = group.isPart ? 0 : othersSincePart + 1
        return group
    }

    /// The time from which the next group may be tried; nil if no group waits for a time.
    var readyAt: Instant? { groups.compactMap(\.readyAt).min() }

    /// Removes the entries for which `isOut` is true, and returns them.
    mutating func takeOut(where isOut: (Entry) -> Bool) -> [Entry] {
        guard groups.contains(where: { $0.entries.contains(where: isOut) }) else { return [] }
        let out = all.filter(isOut)
        for index in groups.indices { groups[index].entries.removeAll(where: isOut) }
        groups.removeAll { $0.entries.isEmpty }
        return out
    }

    /// Adds the entries as the first group.
    mutating func add(_ entries: [Entry]) { groups.insert(Group(entries), at: 0) }

    /// Puts the group first, with these of its entries.
    mutating func reschedule(_ group: Group, keeping entries: [Entry]) {
        guard !entries.isEmpty else { return }
        var group = group
        group.entries = entries
        groups.insert(group, at: 0)
    }

    /// Halves a group in which the data of one entry is at fault for certain. Both halves come first.
    mutating func halve(_ group: Group) {
        // The halves are no parts: the entries that can be stored are stored within moments.
        groups.insert(
            contentsOf: group.halves.map { half in
                var half = half
                half.isPart = group.isPart
                return half
            }, at: 0)
    }

    /// Notes a failure.
    /// - Parameter commits: the number of transactions that the ledger has committed so far.
    mutating func failed(_ failed: Group, by cause: FailureCause, commits: Int, now: Instant) -> Advice {
        var group = failed
        group.failures = group.lastCause == cause ? group.failures + 1 : 1
        group.lastCause = cause
        let isSingle = group.entries.count == 1
        if isSingle {
            if let before = group.commits, commits > before { group.failuresAmongCommits += 1 }
            group.commits = commits
            if cause.isOfData, group.failuresAmongCommits >= Self.failuresOfCulprit { return .setAside }
        } else if cause.mayBeOfOne, group.isPart || group.failures >= Self.failuresBeforeHalving {
            groups.append(contentsOf: group.halves)
            return .goOn
        }
        // The others need not wait for an entry that fails by itself.
        if isSingle, cause.mayBeOfOne, group.failures >= Self.failuresBeforeHalving { group.isPart = true }
        let longest = isSingle && group.isPart ? Self.longestDelayOfOne : Self.longestDelay
        let delay = min(longest, Self.shortestDelay * Double(1 << min(group.failures - 1, 20)))
        group.readyAt = now + .seconds(delay * Double.random(in: 0.5...1))
        groups.append(group)
        return .goOn
    }
}

extension Isolation.Group {
    fileprivate var halves: [Self] {
        let middle = entries.count / 2
        return [entries[..<middle], entries[middle...]].map { half in
            var part = Self(Array(half))
            part.lookUp = lookUp
            part.isPart = true
            return part
        }
    }
}
