import { inject, type App, type InjectionKey } from 'vue'
import { type ApiClient } from '#manager/contract'
import { type EventStream } from './api/event-stream.ts'
import { type LocalProof } from './api/local-proof.ts'
import { type OriginSecret } from './api/origin-secret.ts'
import { type Host } from './host.ts'

/** The services that the page uses. Created once in `app/main.ts`; tests pass their own. */
export interface Services {
  /** Client of the manager: one function per route; throws AppError. */
  readonly api: ApiClient
  /** The origin secret, one half of the sign-in; for the account store and WebSockets. */
  readonly secret: OriginSecret
  readonly localProof: LocalProof
  /** The computer of the user: tunnels, SSH, files. Throws AppError. */
  readonly host: Host
  /** Hints about changes, and live figures of watched sessions. */
  readonly events: EventStream
}

const SERVICES: InjectionKey<Services> = Symbol('services')

export function provideServices(app: App, services: Services): void {
  app.provide(SERVICES, services)
}

/** Returns the services. For components and for setup stores (Pinia runs them in the context of the app). */
export function useServices(): Services {
  const services = inject(SERVICES)
  if (!services) throw new Error('useServices() outside an app with provideServices()')
  return services
}
