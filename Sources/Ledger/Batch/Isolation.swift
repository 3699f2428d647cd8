/// A writer's entries on their way into transactions, in groups. A group that keeps failing in the same way is halved
/// until what causes it is by itself, and the others go on meanwhile. An entry that fails by itself while others are
/// committed is at fault; one that fails while nothing is committed is left as it is.
struct Isolation<Entry> {
    typealias Instant = ContinuousClock.Instant

    struct Group {
        fileprivate(set) var entries: [Entry]
        var lookUp = DecisionBatchWrite.LookUp.underOldClaims
        /// Half of a group that failed: it is halved again as soon as it fails.
        fileprivate var isPart = false
        fileprivate var readyAt: Instant?
        fileprivate var failures = 0
        fileprivate var lastCause: FailureCause?
        /// The ledger's, at its last failure.
        fileprivate var commits: Int?
        /// Failures with commits of others before them.
        fileprivate var failuresAmongCommits = 0

        fileprivate init(_ entries: [Entry]) {
            self.entries = entries
        }
    }

    enum Advice: Equatable {
        /// The group comes again behind the others.
        case goOn
        /// One entry, which fails for itself. It was taken out.
        case setAside
    }

    /// The same failures of a whole batch before it is halved: some end by themselves.
    static var failuresBeforeHalving: Int { 3 }
    /// Failures of one by itself, with commits of others before each, that prove that the fault is its own.
    static var failuresOfCulprit: Int { 3 }
    /// The delay between two tries of a group, doubling from the first to the last. Seconds.
    static var shortestDelay: Double { 0.1 }
    static var longestDelay: Double { 2 }
    /// The longest delay of an entry that fails by itself: each try may cost the others a time-out.
    static var longestDelayOfOne: Double { 30 }
    /// Other groups that a part may be overtaken by before it has its turn, however fast they come.
    static var mostBeforePart: Int { 4 }

    private var groups: [Group]
    /// The number of others since a part last had its turn.
    private var othersSincePart = 0

    init(_ entries: [Entry]) {
        groups = entries.isEmpty ? [] : [Group(entries)]
    }

    var isEmpty: Bool { groups.isEmpty }
    var count: Int { groups.reduce(0) { $0 + $1.entries.count } }
    var all: [Entry] { groups.flatMap(\.entries) }
    /// Whether parts of a batch wait for tries of their own: new entries are not to wait for those.
    var isIsolating: Bool { groups.contains(where: \.isPart) }

    /// The first that may be tried; nil where all are to wait for now.
    mutating func next(now: Instant) -> Group? {
        let ready = groups.indices.filter { (groups[$0].readyAt ?? now) <= now }
        let part = othersSincePart >= Self.mostBeforePart ? ready.first { groups[$0].isPart } : nil
        guard let index = part ?? ready.first else { return nil }
        let group = groups.remove(at: index)
        othersSincePart = group.isPart ? 0 : othersSincePart + 1
        return group
    }

    /// The time from which the next may be tried.
    var readyAt: Instant? { groups.compactMap(\.readyAt).min() }

    /// Removes the entries for which that is true, and returns them.
    mutating func takeOut(where isOut: (Entry) -> Bool) -> [Entry] {
        guard groups.contains(where: { $0.entries.contains(where: isOut) }) else { return [] }
        let out = all.filter(isOut)
        for index in groups.indices { groups[index].entries.removeAll(where: isOut) }
        groups.removeAll { $0.entries.isEmpty }
        return out
    }

    /// Adds the entries as the first group.
    mutating func add(_ entries: [Entry]) { groups.insert(Group(entries), at: 0) }

    /// Schedules the group at once, unchanged.
    mutating func reschedule(_ group: Group, keeping entries: [Entry]) {
        guard !entries.isEmpty else { return }
        var group = group
        group.entries = entries
        groups.insert(group, at: 0)
    }

    /// The data of one is at fault for certain: both halves at once.
    mutating func halve(_ group: Group) {
        // No parts: what is stored by and by is stored within moments.
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
        // Others need not wait for one that fails by itself.
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
