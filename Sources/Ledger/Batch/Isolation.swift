/// Divides a writer's entries into groups, with one SQL transaction for each group. A group that keeps failing in the
/// same way is halved, until one entry is left that is at fault. The other groups continue meanwhile. An entry is at
/// fault if its group of one fails while other groups are committed. While nothing is committed, a failing entry is
/// only retried.
struct Isolation<Entry> {
    typealias Instant = ContinuousClock.Instant

    struct Group {
        fileprivate(set) var entries: [Entry]
        var lookUp = DecisionBatchWrite.LookUp.underOldClaims
        /// True for a half of a failed group. The half is halved again at its first failure.
        fileprivate var isPart = false
        fileprivate var readyAt: Instant?
        fileprivate var failures = 0
        fileprivate var lastCause: FailureCause?
        /// How many SQL transactions the ledger had committed when this group last failed with a single entry; nil
        /// before such a failure.
        fileprivate var commits: Int?
        /// The number of failures with commits of other groups in between.
        fileprivate var failuresAmongCommits = 0

        fileprivate init(_ entries: [Entry]) {
            self.entries = entries
        }
    }

    enum Advice: Equatable {
        /// The entries will be retried after the other groups.
        case goOn
        /// The group is a single entry at fault, and was removed.
        case setAside
    }

    /// The number of equal failures after which a whole batch is halved. Some causes end by themselves.
    static var failuresBeforeHalving: Int { 3 }
    /// The number of failures of a single entry, with commits of other groups in between, that prove it at fault.
    static var failuresOfCulprit: Int { 3 }
    /// The shortest delay between two tries of a group, in seconds. The delay doubles up to `longestDelay`.
    static var shortestDelay: Double { 0.1 }
    static var longestDelay: Double { 2 }
    /// The longest delay of a single failing entry, in seconds. It is long, because each try may cost other entries a
    /// time-out.
    static var longestDelayOfOne: Double { 30 }
    /// A ready part of a failed batch gets its turn after at most this many other groups.
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
    /// True while parts of a failed batch wait for their tries. New entries must not wait for these parts.
    var isIsolating: Bool { groups.contains(where: \.isPart) }

    /// Removes the first group that may be tried now, and returns it. Nil if all groups must wait.
    mutating func next(now: Instant) -> Group? {
        let ready = groups.indices.filter { (groups[$0].readyAt ?? now) <= now }
        let part = othersSincePart >= Self.mostBeforePart ? ready.first { groups[$0].isPart } : nil
        guard let index = part ?? ready.first else { return nil }
        let group = groups.remove(at: index)
        othersSincePart = group.isPart ? 0 : othersSincePart + 1
        return group
    }

    /// The time at which the next waiting group may be tried; nil if no group waits for a time.
    var readyAt: Instant? { groups.compactMap(\.readyAt).min() }

    /// Removes the entries for which `isOut` returns true, and returns them.
    mutating func takeOut(where isOut: (Entry) -> Bool) -> [Entry] {
        guard groups.contains(where: { $0.entries.contains(where: isOut) }) else { return [] }
        let out = all.filter(isOut)
        for index in groups.indices { groups[index].entries.removeAll(where: isOut) }
        groups.removeAll { $0.entries.isEmpty }
        return out
    }

    /// Adds the entries as the first group.
    mutating func add(_ entries: [Entry]) { groups.insert(Group(entries), at: 0) }

    /// Puts the group first, and keeps only `entries` in it.
    mutating func reschedule(_ group: Group, keeping entries: [Entry]) {
        guard !entries.isEmpty else { return }
        var group = group
        group.entries = entries
        groups.insert(group, at: 0)
    }

    /// Halves a group in which the data of one entry is certainly at fault. Puts both halves first.
    mutating func halve(_ group: Group) {
        // The halves of a whole batch do not count as parts, because the valid entries are stored within moments.
        groups.insert(
            contentsOf: group.halves.map { half in
                var half = half
                half.isPart = group.isPart
                return half
            }, at: 0)
    }

    /// Handles a failure.
    /// - Parameter commits: how many SQL transactions the ledger has committed so far.
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
        // From now on, other entries go before an entry that fails by itself.
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
