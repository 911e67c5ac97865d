"""Log-ins to the UI by an OpenID provider: authorization code with PKCE; brokers are asked with the access token.

    /login/oidc ─▶ provider ─▶ /login/oidc/done?code ─▶ tokens, verified ─▶ a broker takes the access token ─▶ a visit

The visit ends with the token. Nothing is kept between the two steps but a signed cookie of the browser.
"""
