import AppStore
import AppStoreSimulation
import Fulfillment
import NamesAndTimes
import Synchronization
import TestSupport
import Testing

@Suite("Conformance: Apple's state in the limits and in the test double")
struct AppleStateConformance {
    enum Implementation: String, CaseIterable, Sendable {
        case limits
        case inATestsHand
    }

    struct Subject: Sendable {
        let state: any AppleState
        /// Lets Apple answer a request.
        let answer: @Sendable () async throws -> Void
        /// Lets Apple fail every request until the state counts Apple as down.
        let goDown: @Sendable () async throws -> Void
        /// Lets Apple answer again. The state notices the answer if the last failure was a few seconds ago.
        let comeBack: @Sendable () async throws -> Void
        let pass: @Sendable (Double) -> Void
    }

    private func withSubject(_ implementation: Implementation, _ body: (Subject) async throws -> Void) async throws {
        switch implementation {
        case .limits:
            let clock = SteppedClock()
            let limits = AppleLimits(maxConcurrency: 4, now: { clock.now })
            try await SimulatedApple.run(limits: limits) { apple in
                try await body(Self.subject(limits, apple, clock))
            }
        case .inATestsHand:
            let outage = Outage()
            try await body(
                Subject(
                    state: outage, answer: { outage.answer() }, goDown: { outage.begin() },
                    comeBack: { outage.end() }, pass: { outage.pass(seconds: $0) }))
        }
    }

    private static func subject(_ limits: AppleLimits, _ apple: SimulatedApple, _ clock: SteppedClock) -> Subject {
        let number = Atomic(1)
        /// Asks with a new receipt and a new player each time, so that no receipt and no player fails twice.
        let ask: @Sendable () async -> AppleAnswer = {
            let next = number.add(1, ordering: .relaxed).newValue
            return await apple.ask(SimulatedApple.receipt("\(next)"), player: Identifier("player-\(next)"))
        }
        return Subject(
            state: limits, answer: { #expect(await ask().genuine != nil) },
            goDown: {
                try await apple.store.setOutage(.http503)
                for _ in 0..<200 where !limits.isDown { #expect(await ask() == .trouble(of: .serverError)) }
            },
            comeBack: {
                try await apple.store.setOutage(nil)
                #expect(await ask().genuine != nil)
            }, pass: { clock.advance(seconds: $0) })
    }

    @Test("before the first request to Apple, isDown and answersOthers are false", arguments: Implementation.allCases)
    func atFirst(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            #expect(!subject.state.isDown && !subject.state.answersOthers)
            subject.pass(100)
            #expect(subject.state.downSeconds == 0)
        }
    }

    @Test(
        "answersOthers is true for a minute after any answer of Apple's, and false while Apple is down",
        arguments: Implementation.allCases)
    func answersOthers(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            try await subject.answer()
            subject.pass(59)
            #expect(subject.state.answersOthers)
            subject.pass(2)
            #expect(!subject.state.answersOthers)
            try await subject.answer()
            #expect(subject.state.answersOthers)
            try await subject.goDown()
            #expect(subject.state.isDown && !subject.state.answersOthers)
            subject.pass(10)
            try await subject.comeBack()
            #expect(!subject.state.isDown && subject.state.answersOthers)
        }
    }

    @Test(
        "downSeconds is the sum of all outages of Apple so far, including an outage that still lasts",
        arguments: Implementation.allCases)
    func downSeconds(implementation: Implementation) async throws {
        try await withSubject(implementation) { subject in
            func isDown(for seconds: Double) -> Bool { abs(subject.state.downSeconds - seconds) < 0.001 }
            try await subject.answer()
            subject.pass(5)
            #expect(isDown(for: 0))
            try await subject.goDown()
            #expect(isDown(for: 0))
            subject.pass(10)
            #expect(isDown(for: 10))
            subject.pass(3)
            #expect(isDown(for: 13))
            try await subject.comeBack()
            subject.pass(20)
            #expect(!subject.state.isDown && isDown(for: 13))
            try await subject.goDown()
            subject.pass(10)
            #expect(isDown(for: 23))
            try await subject.comeBack()
            #expect(isDown(for: 23))
        }
    }
}
