import Fulfillment
import NamesAndTimes
import Testing

@Suite("The wait of a submission without a verdict")
struct ParkingPolicyTests {
    private let policy = ParkingPolicy(
        retry: RetryDelay(initialSeconds: 1, maximumSeconds: 300, doubtSeconds: 600), parkAfterSeconds: 30)
    private let now = Sample.recordTime
    private let trouble = Judgement.undecided(.init(.timeout))

    private func step(
        _ judgement: Judgement, failures: Int = 1, waited: Double = 0, parkings: Int = 0,
        _ circumstances: ParkingPolicy.Circumstances = .init(), jitter: Double = 0.5
    ) -> ParkingPolicy.Step {
        var history = WaitingHistory(failures: failures, parkings: parkings)
        history.noteWait(seconds: waited)
        return policy.step(after: judgement, history, circumstances, jitter: jitter, now: now)
    }

    @Test("after trouble at Apple, a submission waits in memory, and is parked once its waits would exceed 30 seconds")
    func troubles() {
        #expect(step(trouble, failures: 1) == .tryAgain(afterSeconds: 0.5))
        #expect(step(trouble, failures: 5, waited: 22) == .tryAgain(afterSeconds: 8))
        #expect(step(trouble, failures: 5, waited: 23) == .park(.appleTrouble, dueAfterSeconds: 8))
        #expect(step(trouble, failures: 7) == .park(.appleTrouble, dueAfterSeconds: 32))
        let rest = Judgement.undecided(.init(.rateLimited, retryNotBefore: now.adding(milliseconds: 60_000)))
        #expect(step(rest) == .park(.appleTrouble, dueAfterSeconds: 60))
    }

    @Test("if memory has no room, a submission that must wait is parked immediately, during an outage or not")
    func noRoom() {
        #expect(step(trouble, .init(hasRoom: false)) == .park(.appleTrouble, dueAfterSeconds: 0.5))
        let out = ParkingPolicy.Circumstances(isAppleOut: true, hasRoom: false)
        #expect(step(trouble, out) == .park(.appleTrouble, dueAfterSeconds: 0.5))
    }

    @Test("during an outage, a submission is parked only after many failures, however long the submission has waited")
    func out() {
        let out = ParkingPolicy.Circumstances(isAppleOut: true)
        let most = ParkingPolicy.failuresInOutage
        #expect(step(trouble, failures: most - 1, waited: 1_000, out) == .tryAgain(afterSeconds: 32))
        #expect(step(trouble, failures: most, waited: 1_000, out) == .park(.appleTrouble, dueAfterSeconds: 64))
    }

    @Test("the longest parking delay is half the time since the first failure, between 30 seconds and six hours")
    func age() {
        func due(afterSeconds age: Double, parkings: Int, isParked: Bool = true) -> ParkingPolicy.Step {
            var history = WaitingHistory(failures: 20, firstFailureAt: now, parkings: parkings)
            history.noteWait(seconds: 31)
            return policy.step(
                after: trouble, history, .init(isParked: isParked), jitter: 1,
                now: now.adding(milliseconds: Int64(age * 1000)))
        }
        #expect(due(afterSeconds: 31, parkings: 0, isParked: false) == .park(.appleTrouble, dueAfterSeconds: 30))
        #expect(due(afterSeconds: 90, parkings: 3) == .park(.appleTrouble, dueAfterSeconds: 45))
        #expect(due(afterSeconds: 100_000, parkings: 30) == .park(.appleTrouble, dueAfterSeconds: 21_600))
    }

    @Test("a submission that failed three times while Apple was up is parked after its waiting time, even in an outage")
    func failedByItself() {
        let out = ParkingPolicy.Circumstances(isAppleOut: true)
        var history = WaitingHistory(failures: 5)
        history.noteWait(seconds: 25)
        func step(_ circumstances: ParkingPolicy.Circumstances) -> ParkingPolicy.Step {
            policy.step(after: trouble, history, circumstances, jitter: 0.5, now: now)
        }
        for _ in 0..<ParkingPolicy.failuresOfItsOwn {
            #expect(step(out) == .tryAgain(afterSeconds: 8))
            history.noteFailureOfItsOwn()
        }
        #expect(step(out) == .park(.appleTrouble, dueAfterSeconds: 8))
    }

    @Test("a parked submission's delay grows only by failures that happen while Apple answers other submissions")
    func parkedInOutage() {
        let out = ParkingPolicy.Circumstances(isParked: true, answersOthers: false)
        let answering = ParkingPolicy.Circumstances(isParked: true)
        #expect(step(trouble, parkings: 500, out, jitter: 1) == .park(.appleTrouble, dueAfterSeconds: 300))
        #expect(step(trouble, parkings: 500, out, jitter: 0) == .park(.appleTrouble, dueAfterSeconds: 1))
        #expect(step(trouble, parkings: 500, answering, jitter: 1) == .park(.appleTrouble, dueAfterSeconds: 21_600))
        let unasked = Judgement.undecided(.init(.connection, wasAsked: false))
        #expect(step(unasked, parkings: 500, answering, jitter: 1) == .park(.appleTrouble, dueAfterSeconds: 300))
        #expect(!ParkingPolicy.countsAgainst(trouble, out) && ParkingPolicy.countsAgainst(trouble, answering))
        #expect(!ParkingPolicy.countsAgainst(unasked, answering))
        #expect(ParkingPolicy.countsAgainst(.doubtful(.noPurchase), out))
        var history = WaitingHistory()
        history.note(unasked, now: now)
        #expect(history.failures == 0)
    }

    @Test(
        "after a doubtful answer, a submission is parked, or waits in memory if the delay is short and there is room")
    func doubts() {
        #expect(step(.doubtful(.noPurchase)) == .park(.doubt, dueAfterSeconds: 300))
        var short = policy
        short.retry.doubtSeconds = 2
        let step = short.step(after: .doubtful(.noPurchase), WaitingHistory(), .init(), jitter: 0, now: now)
        #expect(step == .tryAgain(afterSeconds: 1))
        let full = short.step(
            after: .doubtful(.noPurchase), WaitingHistory(), .init(hasRoom: false), jitter: 0, now: now)
        #expect(full == .park(.doubt, dueAfterSeconds: 1))
    }

    @Test(
        "a blocked submission is parked after the second failure, even during an outage at Apple",
        arguments: [
            (AppleAnswer.Blockage.sharedSecret, ParkingReason.blockedSharedSecret),
            (.request, .blockedRequest), (.noServerAPI, .blockedNoServerAPI), (.serverAPI, .blockedServerAPI),
        ])
    func blocked(blockage: AppleAnswer.Blockage, reason: ParkingReason) {
        #expect(step(.blocked(blockage), failures: 1) == .tryAgain(afterSeconds: 0.5))
        #expect(step(.blocked(blockage), failures: 2) == .park(reason, dueAfterSeconds: 150))
        #expect(step(.blocked(blockage), failures: 2, .init(isAppleOut: true)) == .park(reason, dueAfterSeconds: 150))
        #expect((ParkingReason.blockagesOfReceipts + ParkingReason.blockagesOfTransactions).contains(reason))
    }

    @Test(
        "a submission with a transaction unknown to Apple is parked immediately, with growing waits of a day in total")
    func unknownTransaction() {
        var patient = policy
        patient.parkAfterSeconds = 1e9
        var history = WaitingHistory()
        var waits: [Double] = []
        for _ in 1..<Judge.triesForUnknownTransaction {
            history.note(.doubtful(.transactionNotFound), now: now)
            let step = patient.step(after: .doubtful(.transactionNotFound), history, .init(), jitter: 0, now: now)
            guard case .park(.doubt, let seconds) = step else {
                Issue.record("it waits in memory")
                return
            }
            waits.append(seconds)
        }
        #expect(abs(waits.reduce(0, +) - 86_400) < 1)
        #expect(zip(waits, waits.dropFirst()).allSatisfy { $0 < $1 })
        #expect((10...20).contains(waits[0]))
    }

    @Test("a parked submission is parked again with growing delays of at most six hours")
    func parked() {
        let parked = ParkingPolicy.Circumstances(isParked: true)
        #expect(step(trouble, parkings: 0, parked) == .park(.appleTrouble, dueAfterSeconds: 15))
        #expect(step(trouble, parkings: 3, parked) == .park(.appleTrouble, dueAfterSeconds: 120))
        let longest = step(trouble, parkings: 500, parked, jitter: 0.75)
        #expect(longest == .park(.appleTrouble, dueAfterSeconds: 0.75 * 21_600))
        #expect(step(trouble, parkings: 3, parked, jitter: 0) == .park(.appleTrouble, dueAfterSeconds: 1))
        #expect(step(.doubtful(.noPurchase), parkings: 3, parked) == .park(.doubt, dueAfterSeconds: 300))
        #expect(step(.blocked(.request), parkings: 1, parked) == .park(.blockedRequest, dueAfterSeconds: 300))
        let rest = Judgement.undecided(.init(.rateLimited, retryNotBefore: now.adding(milliseconds: 3_600_000)))
        #expect(step(rest, parkings: 0, parked) == .park(.appleTrouble, dueAfterSeconds: 3_600))
    }

    @Test("a shorter maximum retry delay also shortens the longest delay of a parked submission")
    func parkedWithShortDelays() {
        let short = ParkingPolicy(retry: RetryDelay(initialSeconds: 0.5, maximumSeconds: 1), parkAfterSeconds: 2)
        let due = short.step(
            after: trouble, WaitingHistory(parkings: 500), .init(isParked: true), jitter: 0.5, now: now)
        #expect(due == .park(.appleTrouble, dueAfterSeconds: 36))
    }

    @Test("if all retry delays are set to 0 s, a submission still waits for the minimum delay")
    func noDelay() {
        let none = ParkingPolicy(
            retry: RetryDelay(initialSeconds: 0, maximumSeconds: 0, doubtSeconds: 0), parkAfterSeconds: 0)
        let history = WaitingHistory(failures: 3)
        #expect(none.delayInMemory(after: trouble, history, jitter: 0, now: now) == ParkingPolicy.minimumDelay)
        #expect(
            none.step(after: trouble, history, .init(), jitter: 0, now: now)
                == .park(.appleTrouble, dueAfterSeconds: ParkingPolicy.minimumDelay))
    }

    @Test(
        "a submission's waiting history counts doubts and failures separately, and keeps the time of the first failure")
    func history() {
        var history = WaitingHistory()
        history.note(trouble, now: now)
        history.note(.doubtful(.noPurchase), now: now.adding(milliseconds: 1))
        history.note(.doubtful(.noPurchase), now: now.adding(milliseconds: 2))
        history.note(.blocked(.request), now: now)
        history.noteParking()
        #expect(
            history
                == WaitingHistory(failures: 2, doubts: [.noPurchase: 2], firstFailureAt: now, parkings: 1))
    }

    @Test("the id of a parked row is the same for the same record, and differs by topic, partition, offset and content")
    func rows() {
        let position = Sample.position()
        func placed(topic: String, partition: Int32) -> RecordPosition {
            RecordPosition(
                topic: topic, partition: partition, offset: position.offset, timestamp: position.timestamp,
                content: position.content)
        }
        #expect(position.parkedID == Sample.position().parkedID)
        #expect(position.parkedID == placed(topic: position.topic, partition: position.partition).parkedID)
        #expect(position.parkedID != placed(topic: "other", partition: position.partition).parkedID)
        #expect(position.parkedID != placed(topic: position.topic, partition: position.partition + 1).parkedID)
        #expect(position.parkedID != Sample.position(offset: 8).parkedID)
        #expect(position.parkedID != Sample.position(content: "other").parkedID)
    }
}
