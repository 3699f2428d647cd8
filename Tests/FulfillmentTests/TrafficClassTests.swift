import NamesAndTimes
import Testing

@testable import Fulfillment

@Suite("Classes of traffic")
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
        "a rejection's class follows from its reason and from whether a local check or a decision gave it",
        arguments: rejections)
    func rejected(reason: Reason, origin: AnswerOrigin, expected: TrafficClass) {
        #expect(TrafficClass([event(reason)], origin) == expected)
    }

    @Test("an answer with a grant or a hold is genuine, even if the answer also has a rejection")
    func genuine() {
        #expect(TrafficClass([event(.unknownProduct, .held)], .decided) == .genuine)
        #expect(TrafficClass([event(.unknownProduct, .granted), event(.cancelled)], .decided) == .genuine)
    }

    @Test("a recalled answer counts as repeated")
    func recalled() {
        #expect(TrafficClass([event(.unknownProduct, .granted)], .recalled) == .repeated)
        #expect(TrafficClass([event(.foreignApp)], .recalled) == .repeated)
    }
}
