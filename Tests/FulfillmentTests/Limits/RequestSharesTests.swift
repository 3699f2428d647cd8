import TestSupport
import Testing

@testable import Fulfillment

private let freshProven = RequestKind(isFresh: true, isProven: true)
private let freshUnproven = RequestKind(isFresh: true, isProven: false)
private let repeatedProven = RequestKind(isFresh: false, isProven: true)
private let repeatedUnproven = RequestKind(isFresh: false, isProven: false)
private let queued = RequestKind(.queue, isFirst: true)
private let background = RequestKind(.background, isFirst: true)

@Suite("The order of requests to Apple")
struct RequestQueueTests {
    @Test("requests of one kind keep their order of arrival; retries and unproven proofs each get a fifth of the turns")
    func turns() throws {
        var queue = RequestQueue<(RequestKind, Int)>()
        for number in 0..<1000 {
            for kind in RequestKind.submissions { queue.append((kind, number), kind) }
        }
        var taken: [RequestKind: [Int]] = [:]
        for _ in 0..<500 {
            let kind = try #require(queue.next())
            let element = queue.take(kind)
            let (kept, number) = try #require(element)
            #expect(kept == kind)
            taken[kind, default: []].append(number)
        }
        #expect(taken.values.allSatisfy { $0 == Array(0..<$0.count) })
        #expect((315...325).contains(taken[freshProven]?.count ?? 0))
        #expect((75...85).contains(taken[freshUnproven]?.count ?? 0))
        #expect((75...85).contains(taken[repeatedProven]?.count ?? 0))
        #expect((15...25).contains(taken[repeatedUnproven]?.count ?? 0))
    }

    @Test("the request queue's count equals the number of its elements after any additions and removals")
    func count() {
        var random = SeededRandom(seed: 7)
        var queue = RequestQueue<Int>()
        var model: [Int] = []
        for number in 0..<20_000 {
            let kind = RequestKind.all[Int.random(in: 0..<RequestKind.all.count, using: &random)]
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                queue.append(number, kind)
                model.append(number)
            case 5, 6:
                let taken = queue.take(kind, newest: Bool.random(using: &random))
                model.removeAll { $0 == taken }
            case 7:
                let chosen = model.randomElement(using: &random) ?? -1
                let removed = queue.remove { $0 == chosen }
                #expect(removed == (chosen < 0 ? nil : chosen))
                model.removeAll { $0 == chosen }
            case 8:
                let kinds = Bool.random(using: &random) ? nil : [kind, kind]
                let bound = number - Int.random(in: 0..<30, using: &random)
                let taken = Set(queue.takeFirst(kinds) { $0 < bound })
                model.removeAll { taken.contains($0) }
            default:
                if Int.random(in: 0..<200, using: &random) == 0 {
                    #expect(queue.takeAll().count == model.count)
                    model = []
                }
            }
            #expect(queue.count == model.count && queue.isEmpty == model.isEmpty)
            if queue.count != model.count { return }
        }
    }

    @Test("receiptd's own requests get under a fifth of the turns, and background requests yield to all other requests")
    func own() throws {
        var queue = RequestQueue<RequestKind>()
        for _ in 0..<1000 {
            for kind in RequestKind.all { queue.append(kind, kind) }
        }
        var taken: [RequestKind: Int] = [:]
        for _ in 0..<560 {
            let kind = try #require(queue.next())
            let element = queue.take(kind)
            #expect(element == kind)
            taken[kind, default: 0] += 1
        }
        #expect((315...325).contains(taken[freshProven] ?? 0))
        #expect((35...45).contains(taken[queued] ?? 0))
        #expect(taken[background] == nil)
        let kind = queue.next { $0.work == .background || $0 == freshUnproven }
        #expect(kind == freshUnproven)
        let last = queue.next { $0.work == .background }
        #expect(last?.work == .background)
    }

    @Test("if no request of a kind waits, this kind of request saves up no turns for later")
    func nothingSavedUp() throws {
        var queue = RequestQueue<Int>()
        for number in 0..<200 { queue.append(number, freshProven) }
        for _ in 0..<100 { _ = queue.take(freshProven) }
        for number in 0..<100 { queue.append(number, repeatedProven) }
        var repeated = 0
        for _ in 0..<50 {
            let kind = try #require(queue.next())
            _ = queue.take(kind)
            if !kind.isFresh { repeated += 1 }
        }
        #expect((9...12).contains(repeated))
    }

    @Test("after removals from any place, the request queue has only the remaining elements")
    func removal() {
        var queue = RequestQueue<Int>()
        for number in 0..<300 { queue.append(number, RequestKind.submissions[number % 4]) }
        for _ in 0..<20 { _ = queue.take(freshProven) }
        let gone = queue.remove { $0 == 200 }
        let never = queue.remove { $0 == 200 }
        #expect(gone == 200 && never == nil)
        #expect(queue.count == 279)
        let first = queue.takeFirst(RequestKind.deferrable) { $0 < 100 }
        #expect(first.allSatisfy { $0 < 100 && $0 % 4 > 1 } && first.count == 50)
        #expect(queue.takeAll().count == 229)
        #expect(queue.isEmpty)
    }
}

@Suite("The shares of the request kinds in the requests under way")
struct RequestSharesTests {
    private func queue(_ kinds: RequestKind...) -> RequestQueue<Int> {
        var queue = RequestQueue<Int>()
        for kind in kinds { queue.append(0, kind) }
        return queue
    }

    /// Returns the number of requests of this kind that can begin one after the other while `waiting` waits.
    private func most(_ kind: RequestKind, beside waiting: RequestQueue<Int>, _ given: RequestShares = .init()) -> Int {
        var shares = given
        var count = 0
        while shares.admits(kind, beside: waiting, limit: 100) {
            shares.began(kind)
            count += 1
        }
        return count
    }

    @Test("retries get a fifth of the requests under way while a first try waits, and otherwise at most half")
    func repeated() {
        #expect(most(repeatedProven, beside: queue(freshProven)) == 20)
        #expect(most(repeatedProven, beside: queue()) == 50)
        #expect(most(freshProven, beside: queue(repeatedProven)) == 100)
        // A fresh request that may not begin yet does not keep a retry waiting.
        var full = RequestShares()
        for _ in 0..<20 { full.began(freshUnproven) }
        #expect(most(repeatedProven, beside: queue(freshUnproven, repeatedProven), full) == 50)
    }

    @Test("receiptd's own requests share the retries' places; background requests start only if no other request waits")
    func own() {
        #expect(most(queued, beside: queue(freshProven)) == 20)
        #expect(most(queued, beside: queue()) == 50)
        var retried = RequestShares()
        for _ in 0..<15 { retried.began(repeatedProven) }
        #expect(most(queued, beside: queue(freshProven), retried) == 5)
        #expect(most(background, beside: queue()) == 50)
        for kind in RequestKind.all where kind.work != .background {
            #expect(most(background, beside: queue(kind, background)) == 0)
        }
        #expect(most(background, beside: queue(background)) == 50)
        // A queued request does not count as a proven proof, so unproven proofs keep their places.
        var shares = RequestShares()
        shares.began(queued)
        shares.ended(queued)
        #expect(most(freshUnproven, beside: queue(queued, background), shares) == 100)
    }

    @Test(
        "unproven proofs get a fifth of the requests if proven proofs wait, and four fifths soon after a proven proof")
    func unproven() {
        #expect(most(freshUnproven, beside: queue(freshProven)) == 20)
        #expect(most(freshUnproven, beside: queue(repeatedProven)) == 20)
        #expect(most(freshUnproven, beside: queue()) == 100)
        var shares = RequestShares()
        shares.began(freshProven)
        shares.ended(freshProven)
        #expect(most(freshUnproven, beside: queue(), shares) == 80)
        for _ in 0..<RequestShares.provenIsRareAfter {
            shares.began(freshUnproven)
            shares.ended(freshUnproven)
        }
        #expect(most(freshUnproven, beside: queue(), shares) == 100)
    }

    @Test("in random schedules, no request kind exceeds its share, and while requests wait, at least one is under way")
    func randomSchedules() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let limit = 1 + random.below(40)
            var queue = RequestQueue<Int>()
            var shares = RequestShares()
            var underWay: [RequestKind] = []
            for step in 0..<200 {
                if random.chance(60) { queue.append(step, random.pick(RequestKind.all)) }
                if !underWay.isEmpty, random.chance(50) {
                    shares.ended(underWay.remove(at: random.below(underWay.count)))
                }
                while let kind = queue.next(where: { shares.admits($0, beside: queue, limit: limit) }) {
                    let unproven = underWay.count { !$0.isProven }
                    if !kind.isProven, queue.hasProven { try #require(unproven < max(1, limit / 5), "seed \(seed)") }
                    _ = queue.take(kind)
                    shares.began(kind)
                    underWay.append(kind)
                    try #require(underWay.count <= limit, "seed \(seed)")
                    try #require(underWay.count { !$0.isFresh } <= max(1, limit / 2), "seed \(seed)")
                }
                // While a request waits, at least one request is under way.
                try #require(queue.isEmpty || !underWay.isEmpty, "seed \(seed)")
            }
        }
    }
}

@Suite("The memory of earlier requests to Apple")
struct RequestMemoryTests {
    @Test(
        "receiptd remembers a failed proof for ten minutes or until an answer, and remembers a bounded number of proofs"
    )
    func failedProofs() {
        var proofs = FailedProofs()
        proofs.note(1, now: 0)
        #expect(proofs.contains(1, now: 599) && !proofs.contains(1, now: 600) && !proofs.contains(2, now: 1))
        proofs.answered(1)
        #expect(!proofs.contains(1, now: 1))
        for proof in 0..<20_000 { proofs.note(proof, now: Double(proof) / 100) }
        #expect(proofs.contains(19_999, now: 200) && !proofs.contains(0, now: 200))
        #expect((0..<20_000).count { proofs.contains($0, now: 200) } <= FailedProofs.maximum)
    }

    @Test(
        "a request to Apple counts as slow after 1 s, and `nextSlow` gives the time at which the next one becomes slow")
    func slow() {
        var requests = RequestsUnderWay()
        requests.began(1, now: 0)
        requests.began(2, now: 0.5)
        #expect(requests.slow(now: 0.9) == 0 && requests.nextSlow(now: 0.9) == 1)
        #expect(requests.slow(now: 1.1) == 1 && requests.nextSlow(now: 1.1) == 1.5)
        requests.ended(1)
        #expect(requests.slow(now: 2) == 1 && requests.nextSlow(now: 2) == nil)
        #expect(requests.count == 1)
    }
}
