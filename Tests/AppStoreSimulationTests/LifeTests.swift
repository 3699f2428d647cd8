import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import AppStoreSimulation

@Suite("Simulated lives of an app's players")
struct LifeTests {
    private static func live(seed: UInt64, players: Int = 300, days: Int = 60) -> (
        SimulatedStore, [SimulatedLife.Happening]
    ) {
        var store = SimulatedStore(seed: seed)
        var plan = SimulatedLife.Plan(bundleID: StoreBed.bundle)
        plan.players = players
        plan.days = days
        plan.seed = seed
        var life = SimulatedLife(plan, startingAt: StoreBed.start, in: &store)
        var happened: [SimulatedLife.Happening] = []
        var now = StoreBed.start
        while life.nextAt != nil {
            now += StoreBed.day
            happened += life.advance(to: now, in: &store)
        }
        return (store, happened)
    }

    @Test("two simulated months with 300 players produce every kind of notification that the test lists")
    func variety() {
        let (store, happened) = Self.live(seed: 3)
        let told = store.summary(at: store.now).notifications
        for type in [
            "ONE_TIME_CHARGE", "SUBSCRIBED/INITIAL_BUY", "SUBSCRIBED/RESUBSCRIBE", "OFFER_REDEEMED/INITIAL_BUY",
            "DID_RENEW",
            "DID_RENEW/BILLING_RECOVERY", "DID_CHANGE_RENEWAL_PREF/UPGRADE", "DID_CHANGE_RENEWAL_PREF/DOWNGRADE",
            "DID_FAIL_TO_RENEW/GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "EXPIRED/VOLUNTARY", "EXPIRED/BILLING_RETRY",
            "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_DISABLED", "DID_CHANGE_RENEWAL_STATUS/AUTO_RENEW_ENABLED",
            "RENEWAL_EXTENDED", "PRICE_INCREASE/PENDING", "REFUND", "REVOKE", "REFUND_REVERSED", "REFUND_DECLINED",
            "CONSUMPTION_REQUEST",
        ] {
            #expect(told[type] ?? 0 > 0, "no \(type)")
        }
        let bought = happened.compactMap(\.bought)
        #expect(Set(bought.map(\.id)) == Set(store.transactions.values.filter { !$0.isRenewal }.map(\.id)))
        #expect(happened.map(\.at) == happened.map(\.at).sorted())
    }

    @Test(
        "simulated paid periods overlap only after an upgrade or refund, and the last one sets the subscription's state"
    )
    func periods() {
        let (store, _) = Self.live(seed: 5)
        #expect(store.subscriptions.count > 100)
        // The customer may have bought again before Apple reversed the refund. These periods may overlap.
        let kept = Set(store.notifications.filter { $0.notification.type == "REFUND_REVERSED" }.map(\.transactionID))
        for subscription in store.subscriptions.values {
            let periods = subscription.periods.compactMap { store.transactions[$0] }
            for (earlier, later) in zip(periods, periods.dropFirst()) where !kept.contains(earlier.id) {
                let end = earlier.upgradedAt ?? earlier.revocation?.at ?? earlier.expiresAt ?? 0
                #expect(later.purchasedAt >= min(end, earlier.expiresAt ?? 0), "\(subscription.originalID)")
            }
            #expect(periods.allSatisfy { $0.originalID == subscription.originalID })
            let state = subscription.state(at: store.now)
            #expect((state == .revoked) == (periods.last?.revocation != nil), "\(subscription.originalID)")
            if state == .active { #expect(periods.last?.expiresAt ?? 0 > store.now) }
        }
    }

    private static func isActive(
        _ subscription: StoreSummary.Subscription, in apple: AppStoreSimulation, at clock: StoreBed.ManualClock
    ) async throws -> Bool {
        let path = "v1/subscriptions/\(subscription.originalTransactionID)?status=1"
        let answer = try await apple.call("GET", path, at: clock)
        return (answer.object["data"] as? [Any])?.count == 1
    }

    @Test("a simulated life that has ended keeps its state, however late a client asks")
    func end() async throws {
        try await StoreBed.run { apple, clock in
            let start = clock.now
            var plan = SimulatedLife.Plan(bundleID: StoreBed.bundle)
            plan.days = 9
            plan.failureShare = 0
            var life = apple.inStore { SimulatedLife(plan, startingAt: start, in: &$0) }
            // The test stops the life a day after its end, when weekly subscriptions may have renewed again.
            clock.pass(days: 10)
            let summary = apple.inStore { store in
                _ = life.advance(to: store.now, in: &store)
                store.now = start + 10 * StoreBed.day
                return life.stop(&store)
            }
            #expect(summary.at == start + 9 * StoreBed.day - 1)
            let active = try #require(
                summary.subscriptions.first { $0.state == .active && $0.productID.hasSuffix("week") })
            clock.pass(days: 60)
            #expect(try await Self.isActive(active, in: apple, at: clock))
        }
    }

    @Test("while the simulated life lags behind the clock, the simulation's answers show the state so far")
    func lag() async throws {
        try await StoreBed.run { apple, clock in
            let start = clock.now
            var plan = SimulatedLife.Plan(bundleID: StoreBed.bundle)
            plan.days = 60
            plan.failureShare = 0
            var life = apple.inStore { SimulatedLife(plan, startingAt: start, in: &$0) }
            let summary = apple.inStore { store in
                _ = life.advance(to: start + 4 * StoreBed.day, in: &store)
                return store.summary(at: start + 4 * StoreBed.day)
            }
            let active = try #require(
                summary.subscriptions.first { $0.state == .active && $0.productID.hasSuffix("week") && $0.willRenew })
            // The next renewal is due, and the simulation has not made it yet.
            clock.pass(days: 20)
            #expect(try await Self.isActive(active, in: apple, at: clock))
        }
    }

    @Test("the same seed gives the same simulated life, and another seed a different life")
    func determinism() {
        let (one, _) = Self.live(seed: 9, players: 30, days: 20)
        let (same, _) = Self.live(seed: 9, players: 30, days: 20)
        let (other, _) = Self.live(seed: 10, players: 30, days: 20)
        #expect(one.summary(at: one.now) == same.summary(at: same.now))
        #expect(one.notifications.map(\.notification.id) == same.notifications.map(\.notification.id))
        #expect(one.summary(at: one.now).notifications != other.summary(at: other.now).notifications)
    }

    @Test("the simulated life's agenda yields events by time, and events of equal times in the order of insertion")
    func agenda() {
        var agenda = Agenda()
        var random = SplitMix64(seed: 4)
        var expected: [(at: Int64, number: Int)] = []
        for number in 0..<500 {
            let at = Int64(random.next() % 50)
            expected.append((at, number))
            agenda.add(.visit(player: number), at: at)
        }
        expected.sort { ($0.at, $0.number) < ($1.at, $1.number) }
        var taken: [Agenda.Event] = []
        while let event = agenda.take() { taken.append(event) }
        #expect(taken == expected.map { .visit(player: $0.number) })
    }

    @Test(
        "the simulator posts a notification until the server accepts it; the history lists lost notifications as failed"
    )
    func delivery() async throws {
        let server = try await NotificationServer.start(refusingFirst: 3)
        var accidents = NotificationDelivery.Accidents()
        accidents.lost = 0.3
        accidents.duplicated = 0.3
        let delivery = try #require(NotificationDelivery(to: "http://127.0.0.1:\(server.port)/in?app=1", accidents))
        #expect(NotificationDelivery(to: "https://example.com") == nil)
        try await StoreBed.run(notified: delivery.add) { apple, clock in
            try apple.inStore { store in
                for _ in 0..<60 { try store.buy("gems", by: StoreBed.lena) }
            }
            delivery.finish()
            await delivery.run(apple)
            let tally = delivery.tally
            #expect(tally.lost > 5 && tally.duplicated > 5 && tally.lost < 40)
            #expect(tally.accepted == 60 - tally.lost + tally.duplicated)
            #expect(tally.posted == tally.accepted + 3)
            let bodies = server.bodies.withLock { $0 }
            let ids = try bodies.map { body in
                let object = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: String]
                return try StoreBed.claims(object?["signedPayload"] ?? "")["notificationUUID"] as? String
            }
            #expect(Set(ids).count == 60 - tally.lost)
            let window = "{\"startDate\":\(clock.now - 1),\"endDate\":\(clock.now + 1),\"onlyFailures\":true}"
            let failed = try await apple.call("POST", "v1/notifications/history", window, at: clock)
            let items = failed.object["notificationHistory"] as? [[String: Any]]
            #expect(items?.count == min(20, tally.lost))
            #expect("\(items ?? [])".contains("NO_RESPONSE"))
        }
        try await server.stop()
    }
}

/// A server that accepts posted notifications, but refuses the first few.
final class NotificationServer: Sendable {
    let bodies = Mutex<[String]>([])
    private let refused: Mutex<Int>
    private let channel: Mutex<(any Channel)?> = Mutex(nil)

    private init(refusing count: Int) { refused = Mutex(count) }

    static func start(refusingFirst count: Int) async throws -> NotificationServer {
        let server = NotificationServer(refusing: count)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(server))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.channel.withLock { $0 = channel }
        return server
    }

    var port: Int { channel.withLock { $0?.localAddress?.port } ?? 0 }

    func stop() async throws { try await channel.withLock { $0 }?.close().get() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart
        private let server: NotificationServer
        private var body = ByteBuffer()

        init(_ server: NotificationServer) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head: break
            case .body(var part): body.writeBuffer(&part)
            case .end:
                let isRefused = server.refused.withLock { count in
                    defer { count = max(0, count - 1) }
                    return count > 0
                }
                if !isRefused { server.bodies.withLock { $0.append(String(buffer: body)) } }
                let head = HTTPResponseHead(
                    version: .http1_1, status: isRefused ? .serviceUnavailable : .ok, headers: ["content-length": "0"])
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
