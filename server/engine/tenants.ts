/**
 * Device time by tenant, for policies that share between tenants. It fades, since a tenant never
 * ends as a request does.
 *
 * @module
 */
import { BoundedMap } from "../../models/bounded_map.ts";

/** How often what a tenant has been charged is halved. */
export const HALVING_MICROS = 1_000_000;
/** Names come from clients; those used longest ago are forgotten. */
const KEPT = 4096;

interface Account {
  micros: number;
  /** When it was that much. */
  atMicros: number;
}

/** Accounts of all tenants; requests of nobody have none. */
export class Tenants {
  readonly #accounts = new BoundedMap<string, Account>(KEPT);

  /** Device time charged to a tenant's requests, what is long ago counting less. */
  micros(tenant: string, nowMicros: number): number {
    const account = tenant === "" ? undefined : this.#accounts.get(tenant);
    return account === undefined ? 0 : faded(account, nowMicros);
  }

  /** Adds device time. */
  charge(tenant: string, micros: number, nowMicros: number): void {
    if (tenant === "") return;
    const account = this.#accounts.get(tenant) ?? { micros: 0, atMicros: nowMicros };
    account.micros = faded(account, nowMicros) + micros;
    account.atMicros = nowMicros;
    this.#accounts.set(tenant, account);
  }
}

function faded({ micros, atMicros }: Account, nowMicros: number): number {
  return micros * 2 ** ((atMicros - nowMicros) / HALVING_MICROS);
}
