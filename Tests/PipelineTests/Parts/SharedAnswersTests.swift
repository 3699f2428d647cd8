import Fulfillment
import NamesAndTimes
import TestSupport
import Testing

@testable import Pipeline

@Suite("Apple's answers that several tasks share")
struct SharedAnswersTests {
    private let key = SharedAnswers.Key(proof: Digest256(hashing: [1]), bundleID: "com.example.game")

    /// Asks the same question with `count` tasks. The first task withholds the answer until all other tasks wait.
    private func ask(
        _ count: Int, _ shared: SharedAnswers, answer: AppleAnswer
    ) async throws -> (asked: Int, [AppleAnswer]) {
        let asked = Shared(0)
        let verifier = ScriptedVerifier.ofSamples(changes: ChangeSignal())
        verifier.hold("proof")
        verifier.answer("proof", answer)
        let key = key
        return try await withThrowingTaskGroup(of: AppleAnswer.self) { group in
            for _ in 0..<count {
                group.addTask {
                    await shared.answer(for: key) {
                        asked.update { $0 += 1 }
                        return await verifier.verify(.sample("proof"))
                    }
                }
            }
            try await eventually("the others wait") { shared.waitingCount(key) == count - 1 }
            verifier.release("proof")
            var answers: [AppleAnswer] = []
            for try await answer in group { answers.append(answer) }
            return (asked.value, answers)
        }
    }

    @Test("if twenty tasks need the same answer of Apple, one request serves them all, even if the request fails")
    func shared() async throws {
        for answer in [Sample.genuine("1"), .trouble(.init(.timeout)), .blocked(.sharedSecret)] {
            let shared = SharedAnswers()
            let (asked, answers) = try await ask(20, shared, answer: answer)
            #expect(asked == 1)
            #expect(answers == Array(repeating: answer, count: 20))
            #expect(shared.waitingCount(key) == 0)
        }
    }

    @Test("if a task comes only after Apple's answer to the other tasks, it sends Apple a new request")
    func later() async throws {
        let shared = SharedAnswers()
        _ = try await ask(3, shared, answer: Sample.genuine("1"))
        #expect(await shared.answer(for: key) { .refused(.unauthentic) } == .refused(.unauthentic))
    }

    @Test("if two apps submit the same proof, each app has its own request to Apple")
    func otherApp() async {
        let shared = SharedAnswers()
        let other = SharedAnswers.Key(proof: key.proof, bundleID: "com.example.other")
        let answer = await shared.answer(for: key) {
            await shared.answer(for: other) { Sample.genuine("other") }
        }
        #expect(answer == Sample.genuine("other"))
    }

    @Test("if the task that asks Apple is cancelled, the waiting tasks get a connection failure as their answer")
    func cancelledLeader() async throws {
        let shared = SharedAnswers()
        let changes = ChangeSignal()
        let verifier = ScriptedVerifier.ofSamples(changes: changes)
        verifier.hold("proof")
        let key = key
        let leader = Task { await shared.answer(for: key) { await verifier.verify(.sample("proof")) } }
        try await changes.until("the leader asks") { verifier.asked.count == 1 }
        let follower = Task { await shared.answer(for: key) { Sample.genuine("never asked") } }
        try await eventually("the follower waits") { shared.waitingCount(key) == 1 }
        leader.cancel()
        #expect(await leader.value == .trouble(.init(.connection)))
        #expect(await follower.value == .trouble(.init(.connection)))
    }

    @Test("a task that comes late waits only if another task asks Apple, and may leave without waking the others")
    func late() {
        var followers = AnswerFollowers<String>()
        /// Returns the task's ticket; nil if the task itself asks Apple.
        func enter() -> UInt64? { followers.enter(key) }
        func wait(_ name: String, _ ticket: UInt64?) -> Bool {
            ticket.map { followers.wait(name, for: key, ticket: $0) } ?? false
        }
        func leave(_ ticket: UInt64?) -> String? { ticket.flatMap { followers.leave(key, ticket: $0) } }
        func end() -> [String] { followers.end(key).sorted() }

        #expect(enter() == nil)
        let late = enter()
        #expect(end().isEmpty)
        // No task asks Apple, so the late task does not wait.
        #expect(!wait("late", late))
        #expect(enter() == nil)
        #expect(wait("late", late))
        #expect(wait("second", enter()) && wait("third", enter()))
        #expect(followers.count(key) == 3)
        #expect(leave(late) == "late")
        #expect(leave(late) == nil)
        #expect(end() == ["second", "third"])
        #expect(end().isEmpty)
    }

    @Test("in random schedules no two tasks ask Apple for the same answer at once, and every task returns")
    func random() async {
        let seed = freshSeed()
        var random = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let shared = SharedAnswers()
            let asking = Shared((now: 0, most: 0))
            let key = key
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<1 + random.below(12) {
                    let yields = (random.below(4), random.below(4))
                    group.addTask {
                        for _ in 0..<yields.0 { await Task.yield() }
                        _ = await shared.answer(for: key) {
                            asking.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                            for _ in 0..<yields.1 { await Task.yield() }
                            asking.update { $0.now -= 1 }
                            return Sample.genuine("1")
                        }
                    }
                }
            }
            guard asking.value.most == 1 else {
                Issue.record("\(asking.value.most) asked at once, seed \(seed)")
                return
            }
        }
    }
}

extension VerificationRequest {
    static func sample(_ name: String) -> VerificationRequest {
        VerificationRequest(bundleID: Sample.bundle, receipt: Sample.receipt(name), sharedSecretSetting: nil)
    }
}
