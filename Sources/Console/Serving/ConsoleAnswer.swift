import HTTPTypes
import Hummingbird
import HummingbirdCore
import NIOCore

struct ConsoleAnswer: Sendable {
    var status: HTTPResponse.Status = .ok
    var type = "text/html; charset=utf-8"
    var body = ""
    /// The address to which the answer redirects the browser; nil without a redirect.
    var location: String?
    var cookies: [String] = []
    /// The file name under which a browser saves the body; nil for a page.
    var fileName: String?
    /// The seconds of `Retry-After`; nil without the header.
    var retryAfter: Int?

    static func seeOther(_ location: String) -> ConsoleAnswer { ConsoleAnswer(status: .seeOther, location: location) }

    /// The policy that allows a page only the console's own style and forms, and no script.
    private static let contentSecurityPolicy =
        "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

    /// - Parameter isHead: true to leave the body out.
    func response(isHead: Bool) -> Response {
        let bytes = ByteBuffer(string: body)
        var headers = HTTPFields()
        headers[.contentType] = type
        headers[.contentLength] = String(bytes.readableBytes)
        headers[.cacheControl] = "no-store"
        headers[.xContentTypeOptions] = "nosniff"
        headers[.contentSecurityPolicy] = Self.contentSecurityPolicy
        set("Referrer-Policy", "same-origin", in: &headers)
        set("Cross-Origin-Opener-Policy", "same-origin", in: &headers)
        set("Cross-Origin-Resource-Policy", "same-origin", in: &headers)
        headers[.location] = location
        for cookie in cookies { headers.append(HTTPField(name: .setCookie, value: cookie)) }
        if let fileName { headers[.contentDisposition] = "attachment; filename=\"\(fileName)\"" }
        if let retryAfter { set("Retry-After", "\(retryAfter)", in: &headers) }
        return Response(
            status: status, headers: headers, body: isHead ? ResponseBody() : ResponseBody(byteBuffer: bytes))
    }

    private func set(_ name: String, _ value: String, in headers: inout HTTPFields) {
        guard let name = HTTPField.Name(name) else { return }
        headers[name] = value
    }
}
