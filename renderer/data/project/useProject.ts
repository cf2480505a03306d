import { defineStore } from 'pinia'
import { computed, ref } from 'vue'
import { type GroupRef, type ScopeUsage } from '#manager/contract'
import { useAccount } from '../account/useAccount.ts'
import { useUsage } from '../usage/useUsage.ts'

const KEY = 'berth.project'

/**
 * The project that the person works in now: lists show its sessions, the launch dialog starts with it, and the gauges compare with
 * its limits. Null for all projects. Remembered on this computer; a project that the person has left counts as none.
 */
export const useProject = defineStore('project', () => {
  const account = useAccount()
  const usage = useUsage()
  const chosenId = ref(globalThis.localStorage.getItem(KEY))
  const projects = computed<readonly GroupRef[]>(() => account.user?.groups ?? [])
  /** The chosen project. A person with one project or none has no choice. */
  const chosen = computed(() => {
    if (projects.value.length < 2) return null
    return projects.value.find(({ id }) => id === chosenId.value) ?? null
  })
  const scopes = computed<ReadonlyMap<string, ScopeUsage>>(
    () => new Map((usage.scopes ?? []).filter(({ kind }) => kind === 'group').map(scope => [scope.id, scope])),
  )
  /** Limits and use of the chosen project, once they are known. */
  const scope = computed(() => (chosen.value ? scopes.value.get(chosen.value.id) : undefined))

  function choose(id: GroupRef['id'] | null): void {
    chosenId.value = id
    if (id === null) globalThis.localStorage.removeItem(KEY)
    else globalThis.localStorage.setItem(KEY, id)
  }
  /** Whether a session belongs to the chosen project; every session does while all projects are chosen. */
  function holds({ group }: { readonly group: GroupRef | null }): boolean {
    return chosen.value === null || group?.id === chosen.value.id
  }
  return { projects, chosen, scopes, scope, choose, holds }
})
