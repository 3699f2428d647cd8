import NIOCore
import NIOHTTP1

/// Builds one HTTP/1.1 response, head and body, in one buffer, so that a response costs one allocation and one write.
/// The writer fills in the Content-Length at the end. Until then the field has spaces, which HTTP allows before a
/// value.
struct HTTPResponseWriter {
    var buffer: ByteBuffer
    let lengthIndex: Int
    let bodyIndex: Int

    /// Begins a response. Removes line breaks from the headers of a behaviour. Leaves out a behaviour's
    /// `Content-Length` and `Transfer-Encoding`.
    init(
        _ buffer: ByteBuffer, status: Int = 200, contentType: StaticString = "application/json", isLast: Bool,
        headers: [String: String] = [:]
    ) {
        self.buffer = buffer
        self.buffer.clear()
        if status == 200 {
            self.buffer.writeStaticString("HTTP/1.1 200 OK\r\n")
        } else {
            let reason = HTTPResponseStatus(statusCode: status).reasonPhrase
            self.buffer.writeString("HTTP/1.1 \(min(max(status, 100), 999)) \(reason)\r\n")
        }
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
            let line = "\(name): \(value)".filter { !$0.isNewline }
            guard !["content-length", "transfer-encoding"].contains(name.lowercased()) else { continue }
            self.buffer.writeString(line + "\r\n")
        }
        if !headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
            self.buffer.writeStaticString("Content-Type: ")
            self.buffer.writeStaticString(contentType)
            self.buffer.writeStaticString("\r\n")
        }
        if isLast { self.buffer.writeStaticString("Connection: close\r\n") }
        self.buffer.writeStaticString("Content-Length:")
        lengthIndex = self.buffer.writerIndex
        self.buffer.writeStaticString("          \r\n\r\n")
        bodyIndex = self.buffer.writerIndex
    }

    var bodyLength: Int { buffer.writerIndex - bodyIndex }

    /// Returns the finished response.
    /// - Parameter length: the Content-Length in the head; nil for the body's real length.
    func finished(claiming length: Int? = nil) -> ByteBuffer {
        var buffer = buffer
        buffer.setString(String(length ?? bodyLength), at: lengthIndex + 1)
        return buffer
    }
}
