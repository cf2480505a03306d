import { type Check, ok, warning } from '../check.ts'

export const cgroups: Check = {
  name: 'cgroups',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.cgroupVersion === '2') return ok('Version 2.')
    return warning(
      `Version ${engine.cgroupVersion || 'unknown'}: limits and figures work, but newer engines will stop supporting it.`,
      'Boot with systemd.unified_cgroup_hierarchy=1, or update the operating system.',
    )
  },
}
