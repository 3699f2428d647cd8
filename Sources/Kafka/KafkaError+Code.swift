extension KafkaError {
    /// The codes by which a caller decides, so that callers need not import librdkafka (source: rdkafka.h,
    /// https://kafka.apache.org/protocol#protocol_error_codes).
    public enum Code {
        public static let invalidArgument: Int32 = -186
        static let badMessage: Int32 = -199
        static let badCompression: Int32 = -198
        static let notImplemented: Int32 = -170
        public static let unknownPartition: Int32 = -190
        public static let unknownTopic: Int32 = -188
        public static let ssl: Int32 = -181
        public static let authentication: Int32 = -169
        public static let queueFull: Int32 = -184
        public static let timedOut: Int32 = -185
        public static let allBrokersDown: Int32 = -187
        public static let messageTimedOut: Int32 = -192
        public static let resolve: Int32 = -193
        public static let transport: Int32 = -195
        public static let closed: Int32 = -172
        public static let purgedInQueue: Int32 = -152
        public static let purgedInFlight: Int32 = -151
        public static let unknownTopicOrPartition: Int32 = 3
        public static let messageTooLarge: Int32 = 10
        public static let illegalGeneration: Int32 = 22
        public static let unknownMemberID: Int32 = 25
        public static let rebalanceInProgress: Int32 = 27
        public static let topicAuthorizationFailed: Int32 = 29
        public static let groupAuthorizationFailed: Int32 = 30
        public static let clusterAuthorizationFailed: Int32 = 31
        public static let invalidTimestamp: Int32 = 32
        static let saslAuthenticationFailed: Int32 = 58
        public static let fencedInstanceID: Int32 = 82

        /// The retriable codes. librdkafka itself marks only error objects as retriable, but most calls return a bare
        /// code. The positive codes are those that Kafka's protocol table marks as retriable.
        static let retriable: Set<Int32> = [
            -195,  // _TRANSPORT
            -193,  // _RESOLVE
            -192,  // _MSG_TIMED_OUT
            -187,  // _ALL_BROKERS_DOWN
            -185,  // _TIMED_OUT
            -184,  // _QUEUE_FULL
            -180,  // _WAIT_COORD
            -166,  // _TIMED_OUT_QUEUE
            2,  // CORRUPT_MESSAGE
            3,  // UNKNOWN_TOPIC_OR_PART
            5,  // LEADER_NOT_AVAILABLE
            6,  // NOT_LEADER_FOR_PARTITION
            7,  // REQUEST_TIMED_OUT
            9,  // REPLICA_NOT_AVAILABLE
            13,  // NETWORK_EXCEPTION
            14,  // COORDINATOR_LOAD_IN_PROGRESS
            15,  // COORDINATOR_NOT_AVAILABLE
            16,  // NOT_COORDINATOR
            19,  // NOT_ENOUGH_REPLICAS
            20,  // NOT_ENOUGH_REPLICAS_AFTER_APPEND
            41,  // NOT_CONTROLLER
            56,  // KAFKA_STORAGE_ERROR
            74,  // FENCED_LEADER_EPOCH
            75,  // UNKNOWN_LEADER_EPOCH
            78,  // OFFSET_NOT_AVAILABLE
            88,  // UNSTABLE_OFFSET_COMMIT
            89,  // THROTTLING_QUOTA_EXCEEDED
        ]
    }
}
