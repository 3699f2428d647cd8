import Kafka
import NamesAndTimes
import Operations

/// A topic that the process reads or writes.
struct WatchedTopic: Sendable, Hashable {
    let name: String
    /// True if the worker cannot decide or publish without the topic. A topic that is not needed may be missing until
    /// Kafka has once answered that it exists.
    let isNeeded: Bool
}

/// The faults of topics, by Kafka's last answer about each topic.
struct TopicStates {
    private var complaints: [WatchedTopic: String] = [:]
    private var seen: Set<WatchedTopic> = []

    /// Notes Kafka's answer about one topic. If no broker answered, the topic's earlier state stays.
    mutating func note(_ topic: WatchedTopic, _ answer: Result<KafkaClusterMetadata, KafkaError>) {
        switch answer {
        case .success(let metadata):
            seen.insert(topic)
            let partitions = metadata.leaderless[topic.name] ?? []
            complaints[topic] =
                partitions.isEmpty
                ? nil
                : "topic \(topic.name): no broker leads \(partitions.count == 1 ? "partition" : "partitions") "
                    + partitions.map(String.init).joined(separator: ", ")
        case .failure(let error):
            switch error.code {
            case KafkaError.Code.unknownTopicOrPartition, KafkaError.Code.unknownTopic:
                if topic.isNeeded || seen.contains(topic) { complaints[topic] = "there is no topic \(topic.name)" }
            case KafkaError.Code.topicAuthorizationFailed:
                complaints[topic] = "Kafka does not allow using topic \(topic.name)"
            // A positive code comes from a broker. With another code, no broker has answered.
            case 1...: complaints[topic] = "topic \(topic.name): \(error.name)"
            default: break
            }
        }
    }

    /// Returns the faults of the needed topics if `isNeeded`, otherwise the faults of the other topics. Returns nil if
    /// there is no fault.
    func complaint(ofNeeded isNeeded: Bool) -> String? {
        let found = complaints.filter { $0.key.isNeeded == isNeeded }.map(\.value).sorted()
        return found.isEmpty ? nil : found.joined(separator: "; ")
    }

    /// Returns whether Kafka has said at least once that each of these topics exists.
    func haveBeenSeen(_ topics: [WatchedTopic]) -> Bool { topics.allSatisfy(seen.contains) }
}

/// Checks every few seconds with Kafka that each topic can be used: the topic exists, the client may use the topic, and
/// each partition has a leader. librdkafka reports some of these faults minutes late. If the process only writes to a
/// topic, librdkafka reports the topic's faults only when the process writes a record.
struct TopicWatch: Sendable {
    private static let pauseSeconds = 10.0
    /// The seconds until the next check while a topic has a fault.
    private static let retrySeconds = 2.0
    private static let timeoutMilliseconds: Int32 = 3_000

    let topics: [WatchedTopic]
    /// Requests a topic's metadata, and blocks until a broker answers or the given milliseconds have passed.
    let ask: @Sendable (String, Int32) throws(KafkaError) -> KafkaClusterMetadata
    let health: Health

    /// Watches the topics, with a Kafka client of its own, until its task is cancelled.
    static func run(
        topics: [WatchedTopic], properties: KafkaProperties, log: @escaping @Sendable (KafkaLogLine) -> Void,
        health: Health
    ) async {
        let probe = TopicProbe(properties: properties, log: log)
        await TopicWatch(
            topics: topics,
            ask: { (topic, milliseconds) throws(KafkaError) in
                try probe.metadata(of: topic, timeoutMilliseconds: milliseconds)
            }, health: health
        ).run()
        await withCheckedContinuation { continuation in
            BlockingWork.run {
                probe.close()
                continuation.resume()
            }
        }
    }

    /// Runs until it is cancelled.
    func run() async {
        var states = TopicStates()
        let needed = topics.filter(\.isNeeded)
        while !Task.isCancelled {
            for topic in topics { states.note(topic, await answer(of: topic)) }
            let isWell = report(states)
            if states.haveBeenSeen(needed) { health.set(.topicsFound, unmet: nil) }
            guard (try? await Task.sleep(for: .seconds(isWell ? Self.pauseSeconds : Self.retrySeconds))) != nil else {
                return
            }
        }
    }

    private func report(_ states: TopicStates) -> Bool {
        var isWell = true
        for (isNeeded, part) in [(true, FailingPart.topics), (false, .optionalTopics)] {
            if let complaint = states.complaint(ofNeeded: isNeeded) {
                health.failures.failed(part, complaint)
                isWell = false
            } else {
                health.failures.recovered(part)
            }
        }
        return isWell
    }

    private func answer(of topic: WatchedTopic) async -> Result<KafkaClusterMetadata, KafkaError> {
        await withCheckedContinuation { continuation in
            BlockingWork.run { [ask] in
                continuation.resume(
                    returning: Result { () throws(KafkaError) in try ask(topic.name, Self.timeoutMilliseconds) })
            }
        }
    }
}
