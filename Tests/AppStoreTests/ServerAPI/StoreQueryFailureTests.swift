import AppStore
import AppleProofs
import Foundation
import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@Suite("Failing queries to the App Store Server API")
struct StoreQueryFailureTests {
    private static let codes: [(Int, StoreQueryAnswer<Bool>)] = [
        (4_040_010, .notFound), (4_040_005, .notFound),
        (4_040_002, .trouble(.init(.status))), (4_040_004, .trouble(.init(.status))),
        (4_040_006, .trouble(.init(.status))), (4_049_999, .trouble(.init(.status))),
        (5_000_000, .trouble(.init(.serverError))), (5_000_001, .trouble(.init(.serverError))),
        (4_290_000, .trouble(.init(.rateLimited))),
        (4_000_047, .refused(code: 4_000_047)), (4_000_006, .refused(code: 4_000_006)),
        (4_000_017, .refused(code: 4_000_017)), (4_040_001, .refused(code: 4_040_001)),
        (4_040_007, .refused(code: 4_040_007)),
        (4_000_000, .blocked(.request)), (4_000_002, .blocked(.serverAPI)), (4_040_003, .blocked(.serverAPI)),
    ]

    @Test(
        "for each error code of the App Store Server API, the client returns the right answer to a store query",
        arguments: codes)
    func errorCodes(code: Int, answer: StoreQueryAnswer<Bool>) async throws {
        try await ScriptedServerAPI.run { _ in
            .code(code)
        } _: { apple in
            #expect(await apple.client.finish("1000", ScriptedServerAPI.context()) == answer)
        }
    }

    @Test("only the API's error codes for an invalid page token make the caller restart paging")
    func paging() {
        for code: Int64 in [4_000_005, 4_000_014, 4_000_017] {
            #expect(StoreQueryAnswer<Bool>.refused(code: code).restartsPaging)
        }
        #expect(!StoreQueryAnswer<Bool>.refused(code: 4_000_006).restartsPaging)
        #expect(!StoreQueryAnswer<Bool>.notFound.restartsPaging)
    }

    @Test(
        "if a body is no answer of the App Store Server API, the store query returns trouble, even with HTTP status 200"
    )
    func noAnswer() async throws {
        let answers: [(ScriptedServerAPI.Reply, AppleAnswer.TroubleKind)] = [
            (.init(status: 404, body: "<html>"), .notJSON), (.init(status: 302), .notJSON),
            (.init(status: 503, body: #"{"errorCode":4040010}"#), .serverError), (.init(body: "<html>"), .notJSON),
            (.init(body: "[]"), .notJSON), (.init(body: "{}"), .incomplete), (.init(status: 204), .notJSON),
            (.init(body: #"{"signedTransactionInfo":"a.b.c"}"#), .unproven),
        ]
        for (reply, kind) in answers {
            try await ScriptedServerAPI.run { _ in
                reply
            } _: { apple in
                #expect(
                    await apple.client.transaction("1", ScriptedServerAPI.context()) == .trouble(.init(kind)),
                    "\(reply)")
            }
        }
    }

    @Test("after two 401s from Production, the API client blocks all of the app's queries without further requests")
    func unauthorized() async throws {
        let observer = RecordingLimits()
        try await ScriptedServerAPI.run(limits: AppleLimits(maxConcurrency: 8, observer: observer)) { _ in
            .init(status: 401)
        } _: { apple in
            let context = ScriptedServerAPI.context()
            #expect(await apple.client.finish("1", context) == .blocked(.serverAPI))
            #expect(await apple.client.subscriptionStatuses(of: "1", context) == .blocked(.serverAPI))
            #expect(apple.requests.count == 2 && !observer.heard.misconfigured.isEmpty)
            #expect(await apple.client.transaction("1", context) == .blocked(.serverAPI))
            #expect(apple.requests.count == 2)
        }
    }

    @Test("neither a 401 of the sandbox nor the error code 4040003 marks the app misconfigured")
    func sandboxUnauthorized() async throws {
        let observer = RecordingLimits()
        try await ScriptedServerAPI.run(limits: AppleLimits(maxConcurrency: 8, observer: observer)) { request in
            request.uri.hasPrefix("/sandbox/") ? .init(status: 401) : .code(4_040_003)
        } _: { apple in
            for _ in 0..<5 {
                #expect(await apple.client.finish("1", ScriptedServerAPI.context(.sandbox)) == .blocked(.serverAPI))
                #expect(await apple.client.finish("1", ScriptedServerAPI.context()) == .blocked(.serverAPI))
            }
            #expect(apple.requests.count == 10 && observer.heard.misconfigured.isEmpty)
        }
    }

    @Test("if an app has no API key, the client sends no request for a store query")
    func noKey() async throws {
        try await ScriptedServerAPI.run(keys: [:]) { _ in
            .init()
        } _: { apple in
            #expect(await apple.client.finish("1", ScriptedServerAPI.context()) == .blocked(.serverAPI))
            #expect(apple.requests.isEmpty)
        }
    }

    @Test("if a store query waited so long that it could miss its deadline, the API client does not send the query")
    func notAfter() async throws {
        let clock = SteppedWallClock()
        let changes = ChangeSignal()
        let limits = AppleLimits(fixedConcurrency: 1, queued: { changes.raise() })
        try await ScriptedServerAPI.run(limits: limits, clock: clock) { _ in
            .init(status: 202)
        } _: { apple in
            var context = ScriptedServerAPI.context()
            // The context allows 60 seconds, and the client's time-out is 30 seconds.
            context.notAfter = clock.began.adding(milliseconds: 60_000)
            let answer = ConsumptionAnswer(delivery: .delivered, providesSampleContent: false)
            @Sendable func send(_ context: StoreQueryContext) async -> StoreQueryAnswer<Bool> {
                await apple.client.answerConsumption(of: "1", answer, context)
            }
            #expect(await send(context) == .answered(true))
            let late = await limits.gate.withPermit { [context] in
                let waiting = Task { await send(context) }
                try? await changes.until("it waits") { limits.gate.waiting == 1 }
                clock.advance(seconds: 31)
                return waiting
            }
            #expect(await late?.value == .trouble(.init(.timeout, wasAsked: false)))
            #expect(apple.requests.count == 1)
            context.notAfter = nil
            #expect(await send(context) == .answered(true))
        }
    }

    @Test("after a 429 the API client holds back the app's requests to the same endpoint, and to no other endpoint")
    func retryAfter() async throws {
        let budget = InMemoryBudget()
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 64, budget: budget, observer: observer)
        let until = Timestamp(milliseconds: Int64(Date.now.timeIntervalSince1970 * 1000) + 600_000)
        try await ScriptedServerAPI.run(limits: limits) { request in
            request.uri.contains("finish")
                ? .init(status: 429, headers: ["Retry-After": "\(until.milliseconds)"]) : .code(4_040_010)
        } _: { apple in
            let scope = AppleScope(
                bundleID: SimulatedServerAPI.bundle, endpoint: AppleEndpoint.finish.rawValue, environment: .production)
            guard
                case .trouble(let trouble) = await apple.client.finish(
                    "1", ScriptedServerAPI.context(.production, .background))
            else {
                Issue.record("a 429 is no trouble")
                return
            }
            #expect(trouble.kind == .rateLimited && trouble.retryNotBefore == until)
            // The hold lasts the rest of ten minutes, and not one second as after a 429 without Retry-After.
            await observer.waitUntil { ($0.holds[scope] ?? 0) > 60 }
            #expect(await apple.client.transaction("1", ScriptedServerAPI.context()) == .notFound)
            #expect(!observer.heard.isDown && observer.heard.limit == AdaptiveConcurrency.start)
        }
    }

    @Test("if subscription queries fail, only their circuit opens, and Apple does not count as down")
    func circuit() async throws {
        let observer = RecordingLimits()
        let limits = AppleLimits(maxConcurrency: 8, observer: observer)
        try await ScriptedServerAPI.run(limits: limits) { request in
            request.uri.contains("/subscriptions/") ? .init(status: 500) : .code(4_040_010)
        } _: { apple in
            for number in 0..<200 where observer.heard.circuitsOpened == 0 {
                _ = await apple.client.subscriptionStatuses(
                    of: StoreTransactionID("\(number)"), ScriptedServerAPI.context(.production, .subscriptions))
            }
            #expect(observer.heard.circuitsOpened == 1 && !limits.isDown)
            #expect(await apple.client.transaction("1", ScriptedServerAPI.context()) == .notFound)
        }
    }
}
