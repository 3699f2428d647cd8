import Identifiers
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

    static let rejections: [(Reason, Bool, TrafficClass)] = [
        (.foreignApp, true, .foreign), (.foreignApp, false, .foreign),
        (.malformedReceipt, true, .junk), (.malformedReceipt, false, .unverifiable),
        (.malformedSubmission, true, .junk),
        (.unauthenticReceipt, true, .forged), (.unauthenticReceipt, false, .unverifiable),
        (.accountNotFound, false, .unverifiable), (.refusedByApple, false, .unverifiable),
        (.alreadyGranted, false, .repeated), (.ownedByOtherPlayer, false, .repeated),
        (.noPurchase, false, .other), (.cancelled, false, .other), (.unknownApp, true, .junk),
        (.sandboxNotAllowed, true, .other),
    ]

    @Test("each rejection is of one class, by its reason and by who found it", arguments: rejections)
    func rejected(reason: Reason, isLocal: Bool, expected: TrafficClass) {
        #expect(TrafficClass([event(reason)], isLocal: isLocal) == expected)
    }

    @Test("what was granted or is held is genuine, whatever else was refused with it")
    func genuine() {
        #expect(TrafficClass([event(.unknownProduct, .held)], isLocal: false) == .genuine)
        #expect(TrafficClass([event(.unknownProduct, .granted), event(.cancelled)], isLocal: false) == .genuine)
    }
}
