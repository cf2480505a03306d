import { defineStore } from 'pinia'
import { computed, ref, watch } from 'vue'
import { type SessionId } from '#manager/contract'
import { type Tunnel, type TunnelId } from '#proxy/contract'
import { useServices } from '../../services.ts'
import { useAccount } from '../account/useAccount.ts'

/** The open tunnels of this user on this computer, kept current by host events. */
export const useTunnels = defineStore('tunnels', () => {
  const { host } = useServices()
  const account = useAccount()
  const byId = ref(new Map<TunnelId, Tunnel>())
  const error = ref<unknown>(null)
  const closing = ref(new Set<TunnelId>())
  const all = computed(() => [...byId.value.values()].toSorted((a, b) => a.openedAt.localeCompare(b.openedAt)))
  let listening = false

  const put = (tunnel: Tunnel) => byId.value.set(tunnel.id, tunnel)
  const remove = (id: TunnelId) => {
    byId.value.delete(id)
    closing.value.delete(id)
  }

  /** Fetches the tunnels. The first call also subscribes to host events. */
  async function load(): Promise<void> {
    if (!listening) {
      listening = true
      host.on('tunnel:changed', put)
      host.on('tunnel:closed', ({ id }) => remove(id))
    }
    try {
      byId.value = new Map((await host.tunnel.list()).map(tunnel => [tunnel.id, tunnel]))
      error.value = null
    } catch (cause) {
      error.value = cause
    }
  }

  // Tunnels end with the last sign-in of their user. After a new sign-in, fetch them again: events in between were missed.
  watch(
    () => account.state,
    state => {
      if (state === 'signed_out') byId.value = new Map()
      if (state !== 'signed_in' || !listening) return
      host.reconnect()
      void load()
    },
  )

  /** Closes a tunnel. @throws the host's error; the tunnel then stays listed */
  async function close(id: TunnelId): Promise<void> {
    closing.value.add(id)
    try {
      await host.tunnel.close(id)
      remove(id)
    } finally {
      closing.value.delete(id)
    }
  }

  const ofSession = (id: SessionId) => all.value.filter(tunnel => tunnel.sessionId === id)
  return { all, error, closing, load, close, put, ofSession }
})
