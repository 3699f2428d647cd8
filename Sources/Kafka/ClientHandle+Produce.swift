import CRDKafka

extension ClientHandle {
    /// Asks the broker for the topic's partitions, and does not wait for them.
    ///
    /// `rd_kafka_producev` leaves this request to a timer of one second, `rd_kafka_topic_new` sends it at once. The
    /// client keeps the answer, so that the topic's handle is destroyed at once.
    func learn(_ topic: String) {
        if let handle = rd_kafka_topic_new(pointer, topic, nil) { rd_kafka_topic_destroy(handle) }
    }

    /// Copies the record into librdkafka's queue. Besides the ticket Swift allocates nothing for a record.
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
        // librdkafka takes the headers and the opaque over only if it accepts the record.
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
        // The stack holds the fields below, at most eight.
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

/// Passes nil for Kafka's null, otherwise a pointer that is not null, even for no bytes: librdkafka takes a null
/// pointer for null.
private func withBytes<Value>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Value) -> Value {
    guard let bytes else { return body(nil) }
    guard !bytes.isEmpty else {
        return withUnsafeBytes(of: UInt8(0)) { body(UnsafeRawBufferPointer(rebasing: $0[..<0])) }
    }
    return bytes.withUnsafeBytes(body)
}
