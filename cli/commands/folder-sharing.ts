import { type Command, Option } from 'commander'
import {
  type ApiClient,
  AppError,
  type Folder,
  type FolderInvitation,
  type FolderMember,
  FolderPermission,
  type FolderShares,
  type ReceivedFolderInvitation,
} from '#manager/contract'
import { counted } from '../counted.ts'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { findFolder, folderTable, PERMISSION_TEXT } from './find-folder.ts'

interface JsonFlag {
  json?: boolean
}

/** `berth folder share|members|unshare|leave|invitations …`: folders of several users. */
export function addFolderSharingCommands(folder: Command): void {
  folder
    .command('share <folder> <email>')
    .description('Invite the user of an e-mail address to a folder. It is theirs to accept.')
    .addOption(
      new Option('--permission <permission>', 'read; also write; also delete and rename')
        .choices(FolderPermission.options)
        .default('ro' satisfies FolderPermission),
    )
    .option('--json', 'print JSON')
    .action(
      async (
        reference: string,
        email: string,
        { permission, json = false }: JsonFlag & { permission: FolderPermission },
      ) => {
        const { api } = await connect()
        const { id } = await findFolder(api, reference)
        const made = await api.inviteToFolder({ params: { id }, body: { email, permission } })
        createOutput(json).data(made, () => sharesTable({ members: [], invitations: [made] }))
      },
    )

  folder
    .command('members <folder>')
    .description('Members and open invitations of a folder that you manage.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const { id } = await findFolder(api, reference)
      const shares = await api.listFolderShares({ params: { id } })
      createOutput(json).data(shares, () => sharesTable(shares))
    })

  folder
    .command('unshare <folder> <email>')
    .description(
      'Withdraw the access of a member, or take back an invitation. Live sessions keep the folder until they end.',
    )
    .action(async (reference: string, email: string) => {
      const { api } = await connect()
      const of = await findFolder(api, reference)
      const { member, invitation } = await findShare(api, of, email)
      if (member) await api.deleteFolderMember({ params: { id: of.id, userId: member.userId } })
      else await api.deleteFolderInvitation({ params: { id: of.id, invitationId: invitation.id } })
    })

  folder
    .command('leave <folder>')
    .description('Give up a folder that somebody shares with you.')
    .action(async (reference: string) => {
      const { api } = await connect()
      await api.leaveFolder({ params: { id: (await findFolder(api, reference)).id } })
    })

  const invitations = folder.command('invitations').description('Invitations to folders that you have received.')

  invitations
    .command('ls', { isDefault: true })
    .description('Open invitations to you.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const { items } = await api.listFolderInvitations()
      createOutput(json).data(items, () => receivedTable(items))
    })

  invitations
    .command('accept <invitation>')
    .description('Become a member of the folder. Name the invitation by its id, or by the folder.')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const { id } = await findInvitation(api, reference)
      const accepted = await api.acceptFolderInvitation({ params: { id } })
      createOutput(json).data(accepted, () => folderTable([accepted]))
    })

  invitations
    .command('decline <invitation>')
    .description('Name the invitation by its id, or by the folder.')
    .action(async (reference: string) => {
      const { api } = await connect()
      await api.declineFolderInvitation({ params: { id: (await findInvitation(api, reference)).id } })
    })
}

/** Changes what a member may do, or what an open invitation gives. @throws AppError `folder_member_not_found` */
export async function permitShare(
  api: ApiClient,
  of: Folder,
  email: string,
  permission: FolderPermission,
): Promise<FolderShares> {
  const { member, invitation } = await findShare(api, of, email)
  const body = { permission }
  if (member) {
    const changed = await api.updateFolderMember({ params: { id: of.id, userId: member.userId }, body })
    return { members: [changed], invitations: [] }
  }
  const params = { id: of.id, invitationId: invitation.id }
  return { members: [], invitations: [await api.updateFolderInvitation({ params, body })] }
}

type Share =
  | { readonly member: FolderMember; readonly invitation?: undefined }
  | { readonly member?: undefined; readonly invitation: FolderInvitation }

/** @throws AppError `folder_member_not_found` */
async function findShare(api: ApiClient, { id, name }: Folder, email: string): Promise<Share> {
  const { members, invitations } = await api.listFolderShares({ params: { id } })
  const isMeant = (one: { email: string }) => one.email.toLowerCase() === email.toLowerCase()
  const [member, invitation] = [members.find(isMeant), invitations.find(isMeant)]
  if (member) return { member }
  if (invitation) return { invitation }
  throw new AppError('folder_member_not_found', { email, why: `"${name}" is not shared with ${email}.` })
}

/** @throws AppError `folder_invitation_not_found` */
async function findInvitation(api: ApiClient, reference: string): Promise<ReceivedFolderInvitation> {
  const { items } = await api.listFolderInvitations()
  const wanted = reference.toLowerCase()
  const found = items.filter(({ id, folder }) => id === wanted || folder.name.toLowerCase() === wanted)
  const [invitation, ...others] = found
  if (invitation && others.length === 0) return invitation
  const why = invitation
    ? `Several folders are named "${reference}": name the invitation by its id, as \`berth folder invitations\` shows it.`
    : `You have no invitation to a folder "${reference}".`
  throw new AppError('folder_invitation_not_found', { name: reference, why })
}

export const sharesTable = ({ members, invitations }: FolderShares): string =>
  table(
    ['USER', 'PERMISSION', 'STATE'],
    [
      ...members.map(({ email, permission, sessions }) => [
        email,
        PERMISSION_TEXT[permission],
        sessions === 0 ? 'member' : `member, in ${counted(sessions, 'session')}`,
      ]),
      ...invitations.map(({ email, permission, expiresAt, ended }) => [
        email,
        PERMISSION_TEXT[permission],
        ended ? 'ended: whoever invited may not share the folder any more' : `invited, until ${expiresAt}`,
      ]),
    ],
  )

const receivedTable = (items: readonly ReceivedFolderInvitation[]): string =>
  table(
    ['FOLDER', 'OF', 'FROM', 'PERMISSION', 'ID'],
    items.map(({ id, folder, group, from, permission }) => [
      folder.name,
      group === null ? from.email : `project ${group.name}`,
      from.email,
      PERMISSION_TEXT[permission],
      id,
    ]),
  )
