import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JsonObject } from '../../jsonrpc/index.ts';
import type { ReplyHeaders } from '../../transport/index.ts';
import { nodeCrypto } from '../crypto.ts';

/** The one algorithm that proofs are signed with here. */
export const DPOP_ALGORITHM = 'ES256';

/** The request that a proof is for. */
export interface ProvenRequest {
  readonly method: string;
  readonly url: URL;
  /** The token that goes along. */
  readonly accessToken?: string;
}

const MAX_NONCES = 100;
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$/;

/**
 * A key that tokens are bound to: who holds only the token cannot use it. It also keeps the nonces that servers hand
 * out, one for each origin.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9449.html
 */
export class DpopKey {
  readonly #key: KeyObject;
  readonly #header: string;
  /** The SHA-256 thumbprint of the public key, as servers compare it. */
  readonly thumbprint: string;
  readonly #nonces = new Map<string, string>();

  private constructor(key: KeyObject) {
    this.#key = key;
    const { kty, crv, x, y } = nodeCrypto().createPublicKey(key).export({ format: 'jwk' });
    this.#header = encode({ typ: 'dpop+jwt', alg: DPOP_ALGORITHM, jwk: { kty, crv, x, y } });
    // The members in alphabetical order: that is how it is defined.
    this.thumbprint = nodeCrypto()
      .createHash('sha256')
      .update(JSON.stringify({ crv, kty, x, y }))
      .digest('base64url');
  }

  static async generate(): Promise<DpopKey> {
    const generate = promisify(nodeCrypto().generateKeyPair);
    const { privateKey } = await generate('ec', { namedCurve: 'P-256' });
    return new DpopKey(privateKey);
  }

  /** The key that {@link DpopKey.toJwk} wrote; undefined when it is none. */
  static fromJwk(jwk: JsonObject): DpopKey | undefined {
    try {
      const key = nodeCrypto().createPrivateKey({ key: jwk, format: 'jwk' });
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? new DpopKey(key) : undefined;
    } catch {
      return undefined; // Whatever is wrong with it, there is no key.
    }
  }

  /** The private key: a secret. */
  toJwk(): JsonObject {
    return { ...this.#key.export({ format: 'jwk' }) };
  }

  /** The value of the DPoP header. Each proof is for one request only. */
  proof({ method, url, accessToken }: ProvenRequest): string {
    const claims = {
      jti: nodeCrypto().randomUUID(),
      htm: method,
      htu: url.origin + url.pathname,
      iat: Math.floor(Date.now() / 1000),
      nonce: this.#nonces.get(url.origin),
      ath: accessToken && nodeCrypto().createHash('sha256').update(accessToken).digest('base64url'),
    };
    const signed = `${this.#header}.${encode(claims)}`;
    const signature = nodeCrypto().sign('sha256', Buffer.from(signed), {
      key: this.#key,
      dsaEncoding: 'ieee-p1363',
    });
    return `${signed}.${signature.toString('base64url')}`;
  }

  /** Takes the nonce that a reply brings, for the next proofs. Returns whether there was one that is new. */
  takeNonce(url: URL, headers: ReplyHeaders): boolean {
    const nonce = headers['dpop-nonce'];
    if (typeof nonce !== 'string' || !NONCE.test(nonce) || this.#nonces.get(url.origin) === nonce)
      return false;
    if (this.#nonces.size >= MAX_NONCES) this.#nonces.clear();
    this.#nonces.set(url.origin, nonce);
    return true;
  }
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
