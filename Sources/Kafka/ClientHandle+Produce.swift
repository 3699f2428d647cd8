import CRDKafka

extension ClientHandle {
    /// Requests the topic's partitions from the broker, and does not wait for the answer.
    ///
    /// `rd_kafka_topic_new` sends the request at once, while `rd_kafka_producev` leaves it to a timer of one second.
    /// The client keeps the answer, so the topic's handle is not needed any more.
    func learn(_ topic: String) {
        if let handle = rd_kafka_topic_new(pointer, topic, nil) { rd_kafka_topic_destroy(handle) }
    }

    /// Copies the record into librdkafka's queue. The ticket is the only object that Swift allocates for a record.
    func produce(_ record: ProducerRecord, ticket: DeliveryTicket) throws(KafkaError) {
        let headers = Self.makeHeaders(record.headers)
        let opaque = ticket.issue()
        let failure = record.topic.withCString { topic in
            withBytes(record.key) { key in
                withBytes(record.value) { value in
                    enqueue(record, topic: topic, key: key, value: value, headers: headers, opaque: opaque)
                }
            }
        }
        guard let failure else { return }
        // librdkafka owns the headers and the opaque only after it has accepted the record.
        if let headers { rd_kafka_headers_destroy(headers) }
        DeliveryTicket.redeem(opaque)
        throw KafkaError(consuming: failure)
    }

    private func enqueue(
        _ record: ProducerRecord,
        topic: UnsafePointer<CChar>,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?,
        headers: OpaquePointer?,
        opaque: UnsafeMutableRawPointer
    ) -> OpaquePointer? {
        // These fields, at most eight, are on the stack.
        withUnsafeTemporaryAllocation(of: rd_kafka_vu_t.self, capacity: 8) { fields in
            var count = 0
            func add(_ type: rd_kafka_vtype_t, _ set: (inout rd_kafka_vu_t) -> Void) {
                var field = rd_kafka_vu_t()
                field.vtype = type
                set(&field)
                fields.initializeElement(at: count, to: field)
                count += 1
            }
            add(RD_KAFKA_VTYPE_TOPIC) { $0.u.cstr = topic }
            add(RD_KAFKA_VTYPE_MSGFLAGS) { $0.u.i = RD_KAFKA_MSG_F_COPY }
            add(RD_KAFKA_VTYPE_OPAQUE) { $0.u.ptr = opaque }
            if let partition = record.partition { add(RD_KAFKA_VTYPE_PARTITION) { $0.u.i32 = partition } }
            if let time = record.timestampMilliseconds { add(RD_KAFKA_VTYPE_TIMESTAMP) { $0.u.i64 = time } }
            if let key {
                add(RD_KAFKA_VTYPE_KEY) {
                    $0.u.mem.ptr = UnsafeMutableRawPointer(mutating: key.baseAddress)
                    $0.u.mem.size = key.count
                }
            }
            if let value {
                add(RD_KAFKA_VTYPE_VALUE) {
                    $0.u.mem.ptr = UnsafeMutableRawPointer(mutating: value.baseAddress)
                    $0.u.mem.size = value.count
                }
            }
            if let headers { add(RD_KAFKA_VTYPE_HEADERS) { $0.u.headers = headers } }
            return rd_kafka_produceva(pointer, fields.baseAddress, count)
        }
    }

    private static func makeHeaders(_ headers: [KafkaHeader]) -> OpaquePointer? {
        guard !headers.isEmpty else { return nil }
        let list = rd_kafka_headers_new(headers.count)
        for header in headers {
            var name = header.name
            name.withUTF8 { name in
                withBytes(header.value) { value in
                    _ = rd_kafka_header_add(
                        list, name.baseAddress, name.count, value?.baseAddress, value?.count ?? 0)
                }
            }
        }
        return list
    }
}

/// Calls `body` with nil for Kafka's null, otherwise with a non-null pointer, even for no bytes. librdkafka takes a
/// null pointer for Kafka's null.
private func withBytes<Value>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Value) -> Value {
    guard let bytes else { return body(nil) }
    guard !bytes.isEmpty else {
        return withUnsafeBytes(of: UInt8(0)) { body(UnsafeRawBufferPointer(rebasing: $0[..<0])) }
    }
    return bytes.withUnsafeBytes(body)
}
