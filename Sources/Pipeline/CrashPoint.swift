import Foundation
import Fulfillment
import NamesAndTimes
import Synchronization

/// The points at which tests kill the process: one after each step of a submission, and some for other work.
///
/// They work only in debug builds, and only if the environment has `RECEIPTD_CRASH_AFTER=<step>[:<times>]`.
enum CrashPoint: String, CaseIterable {
    case polled
    case admitted
    case decoded
    case screened
    case recalled
    case answered
    case judged
    case recorded
    case published
    case acknowledged
    case committed
    // PostgreSQL has stored the refund that a notification reported.
    case refunded
    case refundPublished
    /// PostgreSQL has stored Apple's answer about a subscription.
    case subscriptionSettled
    /// PostgreSQL has stored a page of Apple's notification history and the place after it. The history has another
    /// page.
    case historyPageTaken
    // PostgreSQL has stored the delivery of announced purchases.
    case delivered
    case deliveryPublished
    // Apple has confirmed the report of a delivery.
    case finishTold
    case consumptionTold

    private static let others: Set<CrashPoint> = [
        .refunded, .refundPublished, .subscriptionSettled, .historyPageTaken, .delivered, .deliveryPublished,
        .finishTold, .consumptionTold,
    ]
    static let ofSubmissions = allCases.filter { !others.contains($0) }

    @inline(__always)
    func reached() {
        #if DEBUG
            Self.armed?.reached(self)
        #endif
    }

    /// Kills the process, as a bug would, at the submission `RECEIPTD_CRASH_ON_SUBMISSION=<submission_id>`.
    @inline(__always)
    static func passed(_ decoded: SubmissionDecoder.Decoded) {
        #if DEBUG
            guard let poison, case .submission(let submission) = decoded,
                submission.submissionID.text == poison
            else { return }
            kill(getpid(), SIGKILL)
            while true { pause() }
        #endif
    }

    /// Kills the process, as a bug would, at a notification whose payload contains the text in
    /// `RECEIPTD_CRASH_ON_NOTIFICATION=<text>`.
    @inline(__always)
    static func reading(_ notification: [UInt8]?) {
        #if DEBUG
            guard let poisonousText, let notification, let payload = NotificationName.payload(of: notification),
                String(decoding: payload, as: UTF8.self).contains(poisonousText)
            else { return }
            kill(getpid(), SIGKILL)
            while true { pause() }
        #endif
    }

    /// Kills the process, as a bug would, at the held or announced purchase
    /// `RECEIPTD_CRASH_ON_TRANSACTION=<transaction_id>`.
    @inline(__always)
    static func judging(_ transaction: StoreTransactionID) {
        #if DEBUG
            guard let poisonousTransaction, transaction.text == poisonousTransaction else { return }
            kill(getpid(), SIGKILL)
            while true { pause() }
        #endif
    }

    #if DEBUG
        private static let poisonousTransaction = ProcessInfo.processInfo.environment["RECEIPTD_CRASH_ON_TRANSACTION"]
        private static let poisonousText = ProcessInfo.processInfo.environment["RECEIPTD_CRASH_ON_NOTIFICATION"]
        private static let poison = ProcessInfo.processInfo.environment["RECEIPTD_CRASH_ON_SUBMISSION"]
        private static let armed = ArmedCrash(ProcessInfo.processInfo.environment["RECEIPTD_CRASH_AFTER"])

        private final class ArmedCrash: Sendable {
            private let point: CrashPoint
            private let remaining: Atomic<Int>

            init?(_ text: String?) {
                let parts = (text ?? "").split(separator: ":")
                guard let name = parts.first, let point = CrashPoint(rawValue: String(name)) else { return nil }
                self.point = point
                remaining = Atomic(parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
            }

            func reached(_ point: CrashPoint) {
                guard point == self.point,
                    remaining.subtract(1, ordering: .sequentiallyConsistent).newValue == 0
                else { return }
                // As in a power cut, no signal handler runs and no buffer is flushed.
                kill(getpid(), SIGKILL)
                while true { pause() }
            }
        }
    #endif
}
