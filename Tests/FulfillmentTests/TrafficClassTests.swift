import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("The traffic class of an answered submission")
struct TrafficClassTests {
    private func event(_ reason: Reason, _ kind: OutcomeEvent.Kind = .rejected) -> OutcomeEvent {
        OutcomeEvent(
            eventID: NameBasedUUID("test", reason.rawValue), kind: kind, reason: reason, playerID: "p", bundleID: "b",
            subject: "s",
            occurredAt: Sample.recordTime, value: [])
    }

    static let rejections: [(Reason, AnswerOrigin, TrafficClass)] = [
        (.foreignApp, .local, .foreign), (.foreignApp, .decided, .foreign),
        (.malformedReceipt, .local, .junk), (.malformedReceipt, .decided, .unverifiable),
        (.malformedSubmission, .local, .junk),
        (.unauthenticReceipt, .local, .forged), (.unauthenticReceipt, .decided, .unverifiable),
        (.accountNotFound, .decided, .unverifiable), (.refusedByApple, .decided, .unverifiable),
        (.alreadyGranted, .decided, .repeated), (.ownedByOtherPlayer, .decided, .repeated),
        (.noPurchase, .decided, .other), (.cancelled, .decided, .other), (.unknownApp, .local, .junk),
        (.sandboxNotAllowed, .local, .other),
    ]

    @Test(
        "the traffic class of a rejection depends on its reason, and on whether screening alone gave the rejection",
        arguments: rejections)
    func rejected(reason: Reason, origin: AnswerOrigin, expected: TrafficClass) {
        #expect(TrafficClass([event(reason)], origin) == expected)
    }

    @Test("an answer with a grant or a hold counts as genuine traffic, even if the answer also has a rejection")
    func genuine() {
        #expect(TrafficClass([event(.unknownProduct, .held)], .decided) == .genuine)
        #expect(TrafficClass([event(.unknownProduct, .granted), event(.cancelled)], .decided) == .genuine)
    }

    @Test("if a worker publishes an earlier answer again, the submission counts as repeated traffic")
    func recalled() {
        #expect(TrafficClass([event(.unknownProduct, .granted)], .recalled) == .repeated)
        #expect(TrafficClass([event(.foreignApp)], .recalled) == .repeated)
    }
}
