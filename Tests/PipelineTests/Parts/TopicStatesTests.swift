import Kafka
import Testing

@testable import Pipeline

@Suite("The worker's complaints about Kafka topics")
struct TopicStatesTests {
    private let submissions = WatchedTopic(name: "submissions", isNeeded: true)
    private let outcomes = WatchedTopic(name: "outcomes", isNeeded: true)
    private let accounts = WatchedTopic(name: "accounts", isNeeded: false)

    private func found(
        _ topic: WatchedTopic, leaderless: [Int32] = []
    ) -> Result<KafkaClusterMetadata, KafkaError> {
        .success(
            KafkaClusterMetadata(
                brokers: ["b:1"], topics: [topic.name: [0, 1, 2]],
                leaderless: leaderless.isEmpty ? [:] : [topic.name: leaderless]))
    }

    private func failed(_ code: Int32) -> Result<KafkaClusterMetadata, KafkaError> {
        .failure(.sample(code))
    }

    @Test(
        "the worker complains about a missing, forbidden or leaderless topic until Kafka describes the topic as sound")
    func complaints() {
        var states = TopicStates()
        #expect(!states.haveBeenSeen([submissions]))
        states.note(submissions, failed(KafkaError.Code.unknownTopicOrPartition))
        #expect(states.complaint(ofNeeded: true) == "there is no topic submissions")
        #expect(!states.haveBeenSeen([submissions]))
        states.note(submissions, found(submissions))
        #expect(states.complaint(ofNeeded: true) == nil && states.haveBeenSeen([submissions]))
        states.note(submissions, found(submissions, leaderless: [1, 2]))
        #expect(states.complaint(ofNeeded: true) == "topic submissions: no broker leads partitions 1, 2")
        states.note(outcomes, failed(KafkaError.Code.topicAuthorizationFailed))
        #expect(
            states.complaint(ofNeeded: true)
                == "Kafka does not allow using topic outcomes; topic submissions: no broker leads partitions 1, 2")
        #expect(states.complaint(ofNeeded: false) == nil)
    }

    @Test("a time-out or transport error does not change what the worker knows about a topic")
    func unanswered() {
        var states = TopicStates()
        states.note(submissions, failed(KafkaError.Code.timedOut))
        #expect(states.complaint(ofNeeded: true) == nil && !states.haveBeenSeen([submissions]))
        states.note(submissions, failed(KafkaError.Code.unknownTopicOrPartition))
        states.note(submissions, failed(KafkaError.Code.transport))
        #expect(states.complaint(ofNeeded: true) == "there is no topic submissions")
    }

    @Test("the worker complains about a missing optional topic only if the topic existed before")
    func optional() {
        var states = TopicStates()
        states.note(accounts, failed(KafkaError.Code.unknownTopicOrPartition))
        #expect(states.complaint(ofNeeded: false) == nil)
        states.note(accounts, found(accounts))
        states.note(accounts, failed(KafkaError.Code.unknownTopicOrPartition))
        #expect(states.complaint(ofNeeded: false) == "there is no topic accounts")
        #expect(states.complaint(ofNeeded: true) == nil)
    }
}
