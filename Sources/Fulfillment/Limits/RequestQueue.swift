/// The requests that wait for their turn at Apple. Requests of one kind go in order of arrival; the kinds take turns.
///
/// A kind does not save up turns while none of its requests wait.
public struct RequestQueue<Element> {
    private var lines = RequestKind.all.map { _ in Line() }
    /// Each kind's next turn, as a time on `clock`. `clock` advances with turns; it does not count seconds.
    private var nextTurns = RequestKind.all.map { _ in 0.0 }
    private var clock = 0.0

    public init() {}

    /// The kinds that have waiting requests. Each change of a line updates this set, because a look at every line for
    /// each request would be slow.
    private(set) var kinds: RequestKindSet = []

    public private(set) var count = 0
    public var isEmpty: Bool { kinds.isEmpty }
    /// True if fresh submissions wait.
    public var hasFresh: Bool { kinds.overlaps(.fresh) }
    /// True if proven submissions wait.
    public var hasProven: Bool { kinds.overlaps(.proven) }
    /// Returns whether a proven request waits. If `isProven` is false, returns whether an unproven request waits.
    /// receiptd's own requests count as proven.
    func hasAny(isProven: Bool) -> Bool { kinds.overlaps(isProven ? .anyProven : .unproven) }
    /// Returns whether a first try with a proven proof waits. If `isProven` is false, returns whether a first try with
    /// an unproven proof waits.
    func hasFirst(isProven: Bool) -> Bool { kinds.overlaps(isProven ? .firstAndProven : .freshAndUnproven) }
    var hasDeferrable: Bool { kinds.overlaps(.deferrable) }
    /// The number of waiting requests of receiptd's own.
    var ownCount: Int {
        kinds.overlaps(.own) ? lines.dropFirst(RequestKind.submissions.count).reduce(0) { $0 + $1.count } : 0
    }

    public func isWaiting(_ kind: RequestKind) -> Bool { kinds.contains(kind) }

    public mutating func append(_ element: Element, _ kind: RequestKind) {
        if !kinds.contains(kind) { nextTurns[kind.index] = max(nextTurns[kind.index], clock) }
        lines[kind.index].append(element)
        count += 1
        update(kind.index)
    }

    private mutating func update(_ index: Int) {
        let kind = RequestKindSet(rawValue: 1 << UInt8(index))
        if lines[index].count > 0 { kinds.formUnion(kind) } else { kinds.subtract(kind) }
    }

    /// Returns the kind whose turn it is, among the kinds that may go; nil if none may. Background requests have a turn
    /// only if no other kind may go.
    public func next(where mayGo: (RequestKind) -> Bool = { _ in true }) -> RequestKind? {
        guard !kinds.isEmpty else { return nil }
        return next(of: kinds.subtracting(.background), where: mayGo)
            ?? next(of: kinds.intersection(.background), where: mayGo)
    }

    private func next(of kinds: RequestKindSet, where mayGo: (RequestKind) -> Bool) -> RequestKind? {
        var best: RequestKind?
        for index in kinds.indexes {
            if let best, nextTurns[best.index] <= nextTurns[index] { continue }
            let kind = RequestKind.all[index]
            if mayGo(kind) { best = kind }
        }
        return best
    }

    public func first(_ kind: RequestKind) -> Element? { lines[kind.index].first }

    /// Removes and returns the oldest or the newest request of a kind; nil if none waits. The request uses the kind's
    /// turn.
    public mutating func take(_ kind: RequestKind, newest: Bool = false) -> Element? {
        let taken = newest ? lines[kind.index].popLast() : lines[kind.index].popFirst()
        guard let element = taken else { return nil }
        count -= 1
        update(kind.index)
        clock = max(clock, nextTurns[kind.index])
        nextTurns[kind.index] += 1 / kind.turns
        return element
    }

    /// Removes and returns the oldest requests of each kind in `kinds`, or of every kind if nil. Stops in each kind at
    /// the first request that does not meet the condition.
    public mutating func takeFirst(_ kinds: [RequestKind]? = nil, while condition: (Element) -> Bool) -> [Element] {
        var taken: [Element] = []
        for kind in kinds ?? RequestKind.all {
            while let first = lines[kind.index].first, condition(first) {
                if let element = lines[kind.index].popFirst() { taken.append(element) }
            }
            update(kind.index)
        }
        count -= taken.count
        return taken
    }

    public mutating func remove(where condition: (Element) -> Bool) -> Element? {
        for index in kinds.indexes {
            guard let element = lines[index].remove(where: condition) else { continue }
            count -= 1
            update(index)
            return element
        }
        return nil
    }

    public mutating func takeAll() -> [Element] { takeFirst { _ in true } }

    fileprivate struct Line {
        private var elements: [Element?] = []
        private var head = 0

        var count: Int { elements.count - head }
        var first: Element? { head < elements.count ? elements[head] : nil }

        mutating func append(_ element: Element) { elements.append(element) }

        mutating func popFirst() -> Element? {
            guard head < elements.count else { return nil }
            let element = elements[head].take()
            head += 1
            if head == elements.count || (head >= 64 && head * 2 >= elements.count) {
                elements.removeFirst(head)
                head = 0
            }
            return element
        }

        mutating func popLast() -> Element? {
            guard head < elements.count else { return nil }
            let element = elements.removeLast()
            if head == elements.count {
                elements = []
                head = 0
            }
            return element
        }

        mutating func remove(where condition: (Element) -> Bool) -> Element? {
            guard let index = elements.indices.dropFirst(head).first(where: { elements[$0].map(condition) ?? false })
            else { return nil }
            return elements.remove(at: index)
        }
    }
}

extension RequestQueue: Sendable where Element: Sendable {}
extension RequestQueue.Line: Sendable where Element: Sendable {}
