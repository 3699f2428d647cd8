import Kafka

extension Settings.Reader {
    func readKafka(_ checks: inout SettingsChecks, into kafka: inout KafkaSettings) {
        checks.read(
            .kafkaBootstrapServers, into: &kafka.bootstrapServers, mustBe: "host:port, several separated by commas",
            Self.bootstrapServers)
        checks.read(
            .kafkaGroupID, into: &kafka.groupID,
            mustBe: "1 to \(SettingsLimits.groupLength) bytes without control characters"
        ) { text in
            let isSound = text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
            return isSound && text.utf8.count <= SettingsLimits.groupLength ? text : nil
        }
        readTopics(&checks, into: &kafka)
        readProperties(&checks, into: &kafka)
    }

    /// Adds a fault if librdkafka cannot make clients with the operator's properties. Some faults show only in this
    /// attempt, such as a file that cannot be read, or a mechanism that this librdkafka lacks.
    func tryClients(_ checks: inout SettingsChecks, _ kafka: KafkaSettings) {
        guard !kafka.properties.pairs.isEmpty, checks.faults.isEmpty, let refusal = libraryRefusal(kafka) else {
            return
        }
        checks.fail(
            .kafkaProperties, "librdkafka cannot make a client with these properties: \(ShownText.plain(refusal))")
    }

    /// Returns the text with the brokers; nil if the text is faulty. Like librdkafka, this function allows white space
    /// around commas, and a protocol before the host.
    private static func bootstrapServers(_ text: String) -> String? {
        let servers = text.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed)
        let areSound = servers.allSatisfy { server in
            guard !server.isEmpty, server.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
                return false
            }
            // The last colon precedes the port, unless it is in an IPv6 address without a port.
            guard let colon = server.lastIndex(of: ":"), !server.hasSuffix("]") else { return true }
            let port = server[server.index(after: colon)...]
            return colon > server.startIndex && port.utf8.allSatisfy { (0x30...0x39).contains($0) }
                && Int(port).map { (1...65_535).contains($0) } ?? false
        }
        return areSound ? servers.joined(separator: ",") : nil
    }

    private func readTopics(_ checks: inout SettingsChecks, into kafka: inout KafkaSettings) {
        let topics: [(SettingName, WritableKeyPath<KafkaSettings, String>)] = [
            (.kafkaSubmissionsTopic, \.submissionsTopic), (.kafkaOutcomesTopic, \.outcomesTopic),
            (.kafkaDeadLettersTopic, \.deadLettersTopic), (.kafkaNotificationsTopic, \.notificationsTopic),
            (.kafkaAccountsTopic, \.accountsTopic), (.kafkaConsumptionTopic, \.consumptionTopic),
        ]
        let requirement =
            "a Kafka topic's name: 1 to \(SettingsLimits.topicLength) of letters, digits, '.', '_' and '-', not '.' or '..'"
        for (name, path) in topics {
            checks.read(name, into: &kafka[keyPath: path], mustBe: requirement) { Self.isTopic($0) ? $0 : nil }
        }
        for (index, (name, path)) in topics.enumerated() {
            for (other, otherPath) in topics[..<index] where kafka[keyPath: otherPath] == kafka[keyPath: path] {
                checks.fail(name, "names the same topic as \(other.rawValue)")
            }
        }
    }

    private static func isTopic(_ text: String) -> Bool {
        guard (1...SettingsLimits.topicLength).contains(text.utf8.count), text != ".", text != ".." else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
    }

    private func readProperties(_ checks: inout SettingsChecks, into kafka: inout KafkaSettings) {
        var text = ""
        checks.read(.kafkaProperties, into: &text, mustBe: "name=value;name=value") { $0 }
        let list = KafkaPropertyList(text)
        let protected = ProtectedProperties(
            bootstrapServers: kafka.bootstrapServers, groupID: kafka.groupID, libraryVersion: libraryVersion)
        for message in list.faults { checks.fail(.kafkaProperties, message) }
        var checkedElsewhere: [(name: String, value: String)] = []
        for pair in list.pairs {
            if let message = protected.fault(of: pair.name, value: pair.value) {
                checks.fail(.kafkaProperties, "\(ShownText.plain(pair.name)) \(message)")
            } else {
                checkedElsewhere.append(pair)
            }
        }
        for fault in libraryFaults(checkedElsewhere) {
            checks.fail(.kafkaProperties, "\(ShownText.plain(fault.name)): \(fault.message)")
        }
        kafka.properties = KafkaProperties(list.pairs)
    }
}
