/**
 * Members of the fullest branch of a tree, in their order. At each level the branch with the most members is taken; of equally full ones,
 * the branch whose member comes first in the list.
 *
 * @param members at least one
 * @param branchOf names of the branches that a member is on, widest first
 */
export function fullest<T>(members: readonly T[], branchOf: (member: T) => readonly string[], level = 0): readonly T[] {
  const branches = new Map<string, T[]>()
  for (const member of members) {
    const name = branchOf(member)[level]
    if (name === undefined) continue
    const branch = branches.get(name)
    if (branch) branch.push(member)
    else branches.set(name, [member])
  }
  let most: readonly T[] = []
  for (const branch of branches.values()) if (branch.length > most.length) most = branch
  return most.length === 0 ? members : fullest(most, branchOf, level + 1)
}
