import Testing

@testable import PooledHTTP

@Suite("URLs of the HTTP client's requests")
struct HTTPEndpointTests {
    @Test(
        "The HTTP client splits a URL into origin, request target and authority",
        arguments: [
            ("https://a.apple.com/verifyReceipt", true, "a.apple.com", 443, "/verifyReceipt", "a.apple.com"),
            ("http://127.0.0.1:8080", false, "127.0.0.1", 8080, "/", "127.0.0.1:8080"),
            ("http://apple/a/b?c=d/e#f", false, "apple", 80, "/a/b?c=d/e", "apple"),
            ("https://apple:443?c", true, "apple", 443, "/?c", "apple"),
            ("https://apple:80/", true, "apple", 80, "/", "apple:80"),
            ("http://[::1]:81/x", false, "::1", 81, "/x", "[::1]:81"),
            ("http://[::1]", false, "::1", 80, "/", "[::1]"),
        ] as [(String, Bool, String, Int, String, String)])
    func split(
        url: String, isSecure: Bool, host: String, port: Int, target: String, authority: String
    ) throws {
        let endpoint = try #require(HTTPEndpoint(url: url))
        #expect(endpoint.origin == HTTPEndpoint.Origin(isSecure: isSecure, host: host, port: port))
        #expect(endpoint.target == target)
        #expect(endpoint.authority == authority)
    }

    @Test(
        "The HTTP client refuses a malformed or unsupported URL",
        arguments: [
            "", "http:", "http://", "https:///path", "http://:80/", "http://a:0", "http://a:65536", "http://a:x",
            "http://a:+1", "http://user:secret@a/", "http://a b/", "http://a/b c", "http://a/\r\nx: y", "http://é/",
            "http://[::1", "http://[a]/", "http://[::1]x", "ftp://a/", "a/b", "http://a:99999999999999999999",
        ])
    func refused(url: String) { #expect(HTTPEndpoint(url: url) == nil) }

    @Test("An HTTPS URL gives a TLS server name if its host is a name, and none if its host is an IP address")
    func serverName() throws {
        #expect(HTTPEndpoint(url: "https://apple/")?.origin.serverName == "apple")
        #expect(HTTPEndpoint(url: "https://127.0.0.1/")?.origin.serverName == nil)
        #expect(HTTPEndpoint(url: "https://[::1]/")?.origin.serverName == nil)
    }
}
