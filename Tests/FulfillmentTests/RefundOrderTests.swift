import NamesAndTimes
import TestSupport
import Testing

@testable import Fulfillment

/// Tests stories in which Apple refunds growing totals, and each reversal takes the last refund back. Every
/// notification shows the total that is refunded at that time.
@Suite("Refund notifications in any order")
struct RefundOrderTests {
    /// A notification of a story.
    struct Said {
        let isReversal: Bool
        /// The part of the purchase that is refunded after this notification, in thousandths of a per cent; nil if
        /// nothing is refunded.
        let total: Int32?
        /// The time of signing, in tens of seconds.
        let time: Int64
        /// The date of the refund that made the total; for a reversal, of the refund that stays.
        let date: Int64?
        /// The time of the refund that this reversal takes back; nil for a refund.
        var reversed: Int64?

        var notice: RefundNotice {
            let change: RefundNotice.Change =
                isReversal ? .reversed : .revoked(.refund, at: RefundOrderTests.at(date ?? time))
            return RefundNotice(
                id: Identifier("word \(time)"), change: change, signedAt: RefundOrderTests.at(time, 1),
                transaction: told)
        }

        private var told: NotifiedTransaction {
            RefundTests.told(milliPercent: total, revokedAt: date.map { RefundOrderTests.at($0) })
        }
    }

    private static let totals: [Int32] = [20_000, 33_333, 66_667, 100_000]

    private static func at(_ tens: Int64, _ seconds: Int64 = 0) -> Timestamp {
        RefundTests.day.adding(milliseconds: (tens * 10 + seconds) * 1000)
    }

    /// Returns all stories of this number of notifications.
    private static func stories(_ length: Int) -> [[Said]] {
        var stories: [(said: [Said], refunded: [(total: Int32, date: Int64)])] = [([], [])]
        for time in 1...Int64(length) {
            stories = stories.flatMap { story in
                var next = totals.filter { $0 > story.refunded.last?.total ?? 0 }.map { total in
                    (
                        story.said + [Said(isReversal: false, total: total, time: time, date: time)],
                        story.refunded + [(total, time)]
                    )
                }
                if let last = story.refunded.last {
                    let left = Array(story.refunded.dropLast())
                    let reversal = Said(
                        isReversal: true, total: left.last?.total, time: time, date: left.last?.date,
                        reversed: last.date)
                    next.append((story.said + [reversal], left))
                }
                return next
            }
        }
        return stories.map(\.said)
    }

    private static func orders<Element>(_ all: [Element]) -> [[Element]] {
        guard let first = all.first else { return [[]] }
        return orders(Array(all.dropFirst())).flatMap { rest in
            (0...rest.count).map { Array(rest[..<$0]) + [first] + Array(rest[$0...]) }
        }
    }

    /// Returns the revoked share of the grant after all notices; nil if the grant is whole.
    private func settle(_ notices: [RefundNotice]) -> Int32? {
        var view = RefundView(grants: ["1000": RefundTests.grant()])
        for notice in notices { _ = notice.settle(in: &view, at: RefundTests.day, catalog: RefundTests.catalog) }
        let revoked = view.grants["1000"]?.revocations.apple?.milliPercent
        #expect(view.states.first?.value.revocation?.milliPercent == revoked)
        return revoked
    }

    /// Returns all subsets of a story's notifications that may arrive.
    private static func deliveries(_ story: [Said]) -> [[Said]] {
        (0..<(1 << story.count)).map { lost in
            story.enumerated().filter { lost & 1 << $0.offset == 0 }.map(\.element)
        }
    }

    @Test(
        "in any order, the refund notification signed last decides the grant's state, even if earlier refunds are lost"
    )
    func newestWord() {
        var played = 0
        for story in Self.stories(4) {
            for came in Self.deliveries(story) {
                let times = Set(came.map(\.time))
                // The test skips two cases. A lost reversal reinstates nothing. If the newest notification reverses a
                // refund that was lost, it may itself show this refund.
                guard let newest = came.last, story.allSatisfy({ !$0.isReversal || times.contains($0.time) }),
                    newest.reversed.map(times.contains) ?? true
                else { continue }
                for order in Self.orders(came) {
                    played += 1
                    let end = settle((order + order.reversed()).map(\.notice))
                    #expect(end == newest.total, "\(order)")
                }
            }
        }
        #expect(played > 1000)
    }

    @Test("if refund notifications are lost, the grant's state depends on which ones arrive, but not on their order")
    func anyOrder() {
        for story in Self.stories(4) {
            for came in Self.deliveries(story) {
                let end = settle(came.map(\.notice))
                for order in Self.orders(came) { #expect(settle(order.map(\.notice)) == end, "\(order)") }
            }
        }
    }

    @Test(
        "old refunds that Apple's answers show again, before or after their reversals, do not change the grant's state")
    func shownAgain() {
        var random = SeededRandom(seed: 38)
        for story in Self.stories(6).shuffled(using: &random).prefix(500) {
            let shown = story.filter { !$0.isReversal }.compactMap { RefundNotice(shownBy: $0.notice.transaction) }
            let all = (story.map(\.notice) + shown + shown).shuffled(using: &random)
            #expect(settle(all) == story.last?.total, "\(all)")
        }
    }
}
