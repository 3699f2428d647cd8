/// Requests that wait for Apple: first come, first served within a kind, and the kinds take turns.
///
/// A kind without waiting requests saves up no turns.
public struct RequestQueue<Element> {
    private var lines = RequestKind.all.map { _ in Line() }
    /// When each kind's next turn comes, on a clock that turns move.
    private var nextTurns = RequestKind.all.map { _ in 0.0 }
    private var clock = 0.0

    public init() {}

    public var count: Int { lines.reduce(0) { $0 + $1.count } }
    public var isEmpty: Bool { lines.allSatisfy { $0.count == 0 } }
    /// Of submissions.
    public var hasFresh: Bool { lines[0].count + lines[1].count > 0 }
    /// Of submissions.
    public var hasProven: Bool { lines[0].count + lines[2].count > 0 }
    /// Anything that has not failed before.
    public var hasFirst: Bool { hasFresh || lines[4].count + lines[6].count > 0 }
    public var hasDeferrable: Bool { lines.dropFirst(2).contains { $0.count > 0 } }
    /// What receiptd asks by itself.
    public var ownCount: Int { lines.dropFirst(RequestKind.submissions.count).reduce(0) { $0 + $1.count } }

    public func isWaiting(_ kind: RequestKind) -> Bool { lines[kind.index].count > 0 }

    public mutating func append(_ element: Element, _ kind: RequestKind) {
        if lines[kind.index].count == 0 { nextTurns[kind.index] = max(nextTurns[kind.index], clock) }
        lines[kind.index].append(element)
    }

    /// The kind whose turn it is, of those that may go: one of the background only where no other may.
    public func next(where mayGo: (RequestKind) -> Bool = { _ in true }) -> RequestKind? {
        next(inBackground: false, where: mayGo) ?? next(inBackground: true, where: mayGo)
    }

    private func next(inBackground: Bool, where mayGo: (RequestKind) -> Bool) -> RequestKind? {
        var best: RequestKind?
        for kind in RequestKind.all
        where lines[kind.index].count > 0 && (kind.work == .background) == inBackground {
            if let best, nextTurns[best.index] <= nextTurns[kind.index] { continue }
            if mayGo(kind) { best = kind }
        }
        return best
    }

    public func first(_ kind: RequestKind) -> Element? { lines[kind.index].first }

    /// Takes the first of a kind, or the last one: that was its turn.
    public mutating func take(_ kind: RequestKind, newest: Bool = false) -> Element? {
        let taken = newest ? lines[kind.index].popLast() : lines[kind.index].popFirst()
        guard let element = taken else { return nil }
        clock = max(clock, nextTurns[kind.index])
        nextTurns[kind.index] += 1 / kind.turns
        return element
    }

    /// Takes those at the heads of the lines that fulfil the condition.
    public mutating func takeFirst(_ kinds: [RequestKind]? = nil, while condition: (Element) -> Bool) -> [Element] {
        var taken: [Element] = []
        for kind in kinds ?? RequestKind.all {
            while let first = lines[kind.index].first, condition(first) {
                if let element = lines[kind.index].popFirst() { taken.append(element) }
            }
        }
        return taken
    }

    public mutating func remove(where condition: (Element) -> Bool) -> Element? {
        for index in lines.indices {
            if let element = lines[index].remove(where: condition) { return element }
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
