import Administration
import ArgumentParser
import Foundation
import Fulfillment
import Kafka
import NamesAndTimes
import ReceiptdConfiguration
import Synchronization

struct SubmitCommand: OperatorCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit", abstract: "Publishes submissions, one JSON object a line.",
        discussion: "Signs the submissions with the first of SUBMISSION_SIGNING_KEYS, if you set any.")

    static let requirements: Set<Settings.Requirement> = [.kafka]

    @Argument(help: "A file of JSON lines. Default: standard input.") var file: String?
    @Flag(
        help:
            "Wait for the submissions' events and print them, one JSON object a line. Exit with 1 if a submission gets none."
    ) var wait =
        false
    @Option(help: "With --wait: wait at most this many seconds.") var seconds = 60
    @OptionGroup var options: SettingsOptions

    private struct Line {
        let id, key: String
        let value: [UInt8]
    }

    /// The most records in librdkafka that Kafka has not acknowledged.
    private static let window = 1000

    func run(_ settings: Settings) async throws {
        let signature = RecordSignature(keys: settings.submissionSigningKeys.map(\.value), of: .submissions)
        let lines = try readLines()
        let outcomes = OutcomeTopic(settings: settings.kafka)
        let ends = wait ? try await outcomes.ends() : [:]
        let recorder = TroubleRecorder()
        let producer = try KafkaProducer(
            properties: KafkaClientProperties(settings: settings.kafka).producer, log: recorder.note)
        _ = try await blocking {
            try KafkaClusterMetadata.reach(recorder) { try producer.metadata(timeoutMilliseconds: $0) }
        }
        try await publish(lines, to: settings.kafka.submissionsTopic, signed: signature, with: producer)
        _ = try await blocking { producer.close() }
        let done = "\(lines.count) submissions published" + (signature.isRequired ? ", signed" : "")
        guard wait else { return print(done) }
        printError(done)
        try await printEvents(of: lines.map(\.id), from: outcomes, since: ends)
    }

    private func printEvents(
        of submissions: [String], from outcomes: OutcomeTopic, since ends: [TopicPartition: Int64]
    ) async throws {
        guard !submissions.isEmpty else { return }
        let answers = Mutex(AnswerWait(for: submissions, until: .now + .seconds(seconds)))
        try await outcomes.read(from: .offsets(ends), follow: true) { step in
            let now = ContinuousClock.now
            if case .record(let record) = step, let value = record.value,
                answers.withLock({ $0.take(value, now: now) })
            {
                printLine(value)
            }
            return !answers.withLock { $0.isOver(now) }
        }
        let unanswered = answers.withLock(\.unanswered)
        guard let first = unanswered.first else { return }
        throw CommandFailure(
            "no answer to \(unanswered.count) of \(submissions.count) submissions within \(seconds) s: "
                + "run `receiptd inspect \(ShownText.plain(first))`",
            code: 1)
    }

    /// Reads and checks all lines, before the command sends a record.
    private func readLines() throws -> [Line] {
        let data: Data
        do {
            guard let source = file.map(FileHandle.init(forReadingAtPath:)) ?? FileHandle.standardInput else {
                throw CocoaError(.fileNoSuchFile)
            }
            // `readToEnd` can read a pipe, such as /dev/stdin, whose size is not known.
            data = try source.readToEnd() ?? Data()
        } catch {
            throw CommandFailure("\(file ?? "standard input"): cannot be read", code: 1)
        }
        var lines: [Line] = []
        var faults: [String] = []
        for (index, line) in data.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            let bytes = Array(line)
            if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
            switch SubmissionDecoder().decode(bytes, signatureHeaders: []) {
            case .submission(let submission):
                lines.append(
                    Line(id: submission.submissionID.text, key: submission.playerID.text, value: bytes))
            case .deadLetter(let letter): faults.append("line \(index + 1): \(letter.detail)")
            }
        }
        guard faults.isEmpty else { throw CommandFailure(faults.joined(separator: "\n"), code: 1) }
        return lines
    }

    /// Publishes the records in the order of the lines. Workers decide a player's submissions in this order.
    private func publish(
        _ lines: [Line], to topic: String, signed signature: RecordSignature,
        with producer: KafkaProducer
    ) async throws {
        var progress = ProgressBar("submitting")
        let acknowledged = Acknowledged()
        for line in lines {
            let key = Array(line.key.utf8)
            let record = ProducerRecord(
                topic: topic, partition: nil, key: key, value: line.value,
                headers: signature.header(ofKey: key, value: line.value).map {
                    [KafkaHeader(name: RecordSignature.headerName, value: $0)]
                } ?? [], timestampMilliseconds: nil)
            try producer.produce(record) { acknowledged.note($0) }
            while producer.outstandingCount >= Self.window { try await rest(acknowledged, lines.count, &progress) }
        }
        while acknowledged.count < lines.count { try await rest(acknowledged, lines.count, &progress) }
        try acknowledged.check()
        progress.end()
    }

    private func rest(_ acknowledged: Acknowledged, _ total: Int, _ progress: inout ProgressBar) async throws {
        progress.show(acknowledged.count, of: total)
        try acknowledged.check()
        try await Task.sleep(for: .milliseconds(2))
    }

    /// Counts the records that Kafka has acknowledged.
    private final class Acknowledged: Sendable {
        private let state = Mutex((count: 0, failure: KafkaError?.none))

        var count: Int { state.withLock { $0.count } }

        func note(_ result: Result<Delivery, KafkaError>) {
            state.withLock { state in
                state.count += 1
                if case .failure(let error) = result, state.failure == nil { state.failure = error }
            }
        }

        func check() throws {
            if let failure = state.withLock({ $0.failure }) {
                throw CommandFailure("some submissions were not published: \(failure.name)", code: 1)
            }
        }
    }
}
