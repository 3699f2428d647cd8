import AppleProofs
import Fulfillment
import Kafka
import Pipeline
import ReceiptdConfiguration

/// Predicts whether a record would become a dead letter again, with this release, these settings and this catalog.
package struct RedriveReading: Sendable {
    private let kafka: KafkaSettings
    private let submissions: SubmissionDecoder
    private let accounts: PlayerAccountDecoder
    private let consumption: ConsumptionReportDecoder
    private let proofs: ProofReader
    private let catalog: Catalog

    package init(_ settings: Settings, catalog: Catalog) {
        let keys = settings.submissionSigningKeys.map(\.value)
        kafka = settings.kafka
        submissions = SubmissionDecoder(signingKeys: keys)
        accounts = PlayerAccountDecoder(signingKeys: keys)
        consumption = ConsumptionReportDecoder(signingKeys: keys)
        proofs = ProofReader(roots: settings.apple.roots)
        self.catalog = catalog
    }

    /// Returns the dead letter that the record would become; nil if a worker could read the record. A worker may still
    /// fail to process a record that it can read.
    /// - Parameter topic: the topic that the record came from.
    func refusal(of record: ConsumerRecord, from topic: String) -> DeadLetter? {
        let signatures = record.headers.filter { $0.name == RecordSignature.headerName }.compactMap(\.value)
        switch topic {
        case kafka.notificationsTopic: return refusal(ofNotification: record.value)
        case kafka.accountsTopic:
            if case .deadLetter(let letter) = accounts.decode(
                key: record.key, value: record.value, signatureHeaders: signatures)
            {
                return letter
            }
        case kafka.consumptionTopic:
            if case .deadLetter(let letter) = consumption.decode(
                key: record.key, record.value, signatureHeaders: signatures)
            {
                return letter
            }
        default:
            if case .deadLetter(let letter) = submissions.decode(
                key: record.key, record.value, signatureHeaders: signatures)
            {
                return letter
            }
        }
        return nil
    }

    private func refusal(ofNotification value: [UInt8]?) -> DeadLetter? {
        guard let value else { return DeadLetter(reason: .malformedMessage, detail: "the value is null") }
        switch proofs.parse(notification: value) {
        case .unusable(let why), .notProvable(let why): return DeadLetter(notification: value, unreadable: why)
        case .read(let notification):
            guard case .deadLetter(let letter) = notification.verdict(under: catalog, from: .notification) else {
                return nil
            }
            return letter
        }
    }
}
