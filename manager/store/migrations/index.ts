import { type Migration } from 'kysely/migration'
import { foundation } from './0001-foundation.ts'
import { resourceGroups } from './0002-resource-groups.ts'
import { keypairs } from './0003-keypairs.ts'
import { administration } from './0004-administration.ts'
import { operation } from './0005-operation.ts'
import { files } from './0006-files.ts'
import { agentTrust } from './0008-agent-trust.ts'
import { idempotency } from './0011-idempotency.ts'
import { retention } from './0013-retention.ts'
import { folders } from './0015-folders.ts'
import { copies } from './0016-copies.ts'
import { uploads } from './0017-uploads.ts'
import { folderMembers } from './0018-folder-members.ts'
import { folderUsage } from './0019-folder-usage.ts'
import { imageCommand } from './0020-image-command.ts'
import { downloads } from './0022-downloads.ts'
import { launch } from './0023-launch.ts'
import { sessionLabels } from './0024-session-labels.ts'
import { sessionShares } from './0025-session-shares.ts'
import { publishedApps } from './0026-published-apps.ts'
import { homeFiles } from './0028-home-files.ts'
import { folderClones } from './0029-folder-clones.ts'
import { announcements } from './0030-announcements.ts'
import { defaultTemplate } from './0031-default-template.ts'
import { signInProviders } from './0033-sign-in-providers.ts'
import { messages } from './0035-messages.ts'
import { folderSizes } from './0037-folder-sizes.ts'
import { listOrders } from './0039-list-orders.ts'
import { backups } from './0040-backups.ts'
import { interruptions } from './0042-interruptions.ts'
import { signUpRequests } from './0044-sign-up-requests.ts'
import { imageAliases } from './0045-image-aliases.ts'
import { sessionImages } from './0050-session-images.ts'
import { imageDefaults } from './0051-image-defaults.ts'
import { folderUsageMode } from './0052-folder-usage-mode.ts'
import { usageDays } from './0053-usage-days.ts'
import { certificates } from './0055-certificates.ts'
import { diagnoses } from './0056-diagnoses.ts'
import { agentTexts } from './0058-agent-texts.ts'
import { addedFolders } from './0060-added-folders.ts'
import { projectFolderSize } from './0062-project-folder-size.ts'
import { failedSessions } from './0064-failed-sessions.ts'
import { gpuIdle } from './0068-gpu-idle.ts'
import { usageMeasured } from './0069-usage-measured.ts'
import { accountNotes } from './0070-account-notes.ts'
import { imageDomains } from './0072-image-domains.ts'
import { imageBuilds } from './0073-image-builds.ts'
import { folderFiles } from './0074-folder-files.ts'
import { uploadExecutable } from './0075-upload-executable.ts'
import { projectFolderFiles } from './0076-project-folder-files.ts'
import { visits } from './0077-visits.ts'
import { usageHours } from './0078-usage-hours.ts'
import { imageDescriptions } from './0079-image-descriptions.ts'
import { usageWeeks } from './0080-usage-weeks.ts'
import { usageRoom } from './0081-usage-room.ts'
import { sessionWords } from './0082-session-words.ts'
import { sessionWordsIndex } from './0083-session-words-index.ts'
import { actingFor } from './0084-acting-for.ts'
import { passwordFrom } from './0085-password-from.ts'
import { launchedBy } from './0086-launched-by.ts'
import { ownApps } from './0090-own-apps.ts'
import { doubtfulIdentities } from './0091-doubtful-identities.ts'
import { hostFaults } from './0092-host-faults.ts'
import { endOfDoubt } from './0093-end-of-doubt.ts'
import { appPorts } from './0095-app-ports.ts'

/** All migrations, in order of their names. Never edit a released migration; add one with the next number. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-foundation': foundation,
  '0002-resource-groups': resourceGroups,
  '0003-keypairs': keypairs,
  '0004-administration': administration,
  '0005-operation': operation,
  '0006-files': files,
  '0008-agent-trust': agentTrust,
  '0011-idempotency': idempotency,
  '0013-retention': retention,
  '0015-folders': folders,
  '0016-copies': copies,
  '0017-uploads': uploads,
  '0018-folder-members': folderMembers,
  '0019-folder-usage': folderUsage,
  '0020-image-command': imageCommand,
  '0022-downloads': downloads,
  '0023-launch': launch,
  '0024-session-labels': sessionLabels,
  '0025-session-shares': sessionShares,
  '0026-published-apps': publishedApps,
  '0028-home-files': homeFiles,
  '0029-folder-clones': folderClones,
  '0030-announcements': announcements,
  '0031-default-template': defaultTemplate,
  '0033-sign-in-providers': signInProviders,
  '0035-messages': messages,
  '0037-folder-sizes': folderSizes,
  '0039-list-orders': listOrders,
  '0040-backups': backups,
  '0042-interruptions': interruptions,
  '0044-sign-up-requests': signUpRequests,
  '0045-image-aliases': imageAliases,
  '0050-session-images': sessionImages,
  '0051-image-defaults': imageDefaults,
  '0052-folder-usage-mode': folderUsageMode,
  '0053-usage-days': usageDays,
  '0055-certificates': certificates,
  '0056-diagnoses': diagnoses,
  '0058-agent-texts': agentTexts,
  '0060-added-folders': addedFolders,
  '0062-project-folder-size': projectFolderSize,
  '0064-failed-sessions': failedSessions,
  '0068-gpu-idle': gpuIdle,
  '0069-usage-measured': usageMeasured,
  '0070-account-notes': accountNotes,
  '0072-image-domains': imageDomains,
  '0073-image-builds': imageBuilds,
  '0074-folder-files': folderFiles,
  '0075-upload-executable': uploadExecutable,
  '0076-project-folder-files': projectFolderFiles,
  '0077-visits': visits,
  '0078-usage-hours': usageHours,
  '0079-image-descriptions': imageDescriptions,
  '0080-usage-weeks': usageWeeks,
  '0081-usage-room': usageRoom,
  '0082-session-words': sessionWords,
  '0083-session-words-index': sessionWordsIndex,
  '0084-acting-for': actingFor,
  '0085-password-from': passwordFrom,
  '0086-launched-by': launchedBy,
  '0090-own-apps': ownApps,
  '0091-doubtful-identities': doubtfulIdentities,
  '0092-host-faults': hostFaults,
  '0093-end-of-doubt': endOfDoubt,
  '0095-app-ports': appPorts,
}
