/** The migrations in their order, embedded in the binary; the schema version is how many of them have run. */
import initial from './0001_initial.sql' with { type: 'text' }
import routes from './0002_routes.sql' with { type: 'text' }
import answers from './0003_answers.sql' with { type: 'text' }
import imageTokens from './0004_image_tokens.sql' with { type: 'text' }
import notices from './0005_notices.sql' with { type: 'text' }
import endUsers from './0006_end_users.sql' with { type: 'text' }
import refusals from './0007_refusals.sql' with { type: 'text' }
import chargeDays from './0008_charge_days.sql' with { type: 'text' }
import acts from './0009_acts.sql' with { type: 'text' }
import signin from './0010_signin.sql' with { type: 'text' }
import identities from './0011_identities.sql' with { type: 'text' }
import retention from './0012_retention.sql' with { type: 'text' }
import codeMails from './0013_code_mails.sql' with { type: 'text' }
import peopleByAge from './0014_people_by_age.sql' with { type: 'text' }
import manyKeys from './0015_many_keys.sql' with { type: 'text' }
import restingDays from './0016_resting_days.sql' with { type: 'text' }
import bounds from './0017_bounds.sql' with { type: 'text' }
import revocations from './0018_revocations.sql' with { type: 'text' }
import outputBound from './0019_output_bound.sql' with { type: 'text' }
import holds from './0020_holds.sql' with { type: 'text' }
import codeCounts from './0021_code_counts.sql' with { type: 'text' }
import steadyTime from './0022_steady_time.sql' with { type: 'text' }
import ratesAhead from './0023_rates_ahead.sql' with { type: 'text' }
import catalogueVersion from './0024_catalogue_version.sql' with { type: 'text' }
import owners from './0025_owners.sql' with { type: 'text' }
import artifactVersions from './0026_artifact_versions.sql' with { type: 'text' }
import repeats from './0027_repeats.sql' with { type: 'text' }
import wires from './0028_wires.sql' with { type: 'text' }
import kinds from './0029_kinds.sql' with { type: 'text' }
import aliases from './0030_aliases.sql' with { type: 'text' }
import pricedExtras from './0031_priced_extras.sql' with { type: 'text' }
import surfaces from './0032_surfaces.sql' with { type: 'text' }
import cutTools from './0033_cut_tools.sql' with { type: 'text' }
import limits from './0034_limits.sql' with { type: 'text' }
import signinEvents from './0035_signin_events.sql' with { type: 'text' }
import routeMasks from './0036_route_masks.sql' with { type: 'text' }
import memberships from './0037_memberships.sql' with { type: 'text' }
import access from './0038_access.sql' with { type: 'text' }
import events from './0039_events.sql' with { type: 'text' }
import accountLimits from './0040_account_limits.sql' with { type: 'text' }
import credentials from './0041_credentials.sql' with { type: 'text' }
import accountEvents from './0042_account_events.sql' with { type: 'text' }
import servedCredential from './0043_served_credential.sql' with { type: 'text' }
import devices from './0044_devices.sql' with { type: 'text' }
import logouts from './0045_logouts.sql' with { type: 'text' }
import idTokenClaims from './0046_id_token_claims.sql' with { type: 'text' }
import passkeys from './0047_passkeys.sql' with { type: 'text' }
import invitations from './0048_invitations.sql' with { type: 'text' }
import movedDays from './0049_moved_days.sql' with { type: 'text' }
import nodes from './0050_nodes.sql' with { type: 'text' }

export const MIGRATIONS: readonly string[] = [
  initial,
  routes,
  answers,
  imageTokens,
  notices,
  endUsers,
  refusals,
  chargeDays,
  acts,
  signin,
  identities,
  retention,
  codeMails,
  peopleByAge,
  manyKeys,
  restingDays,
  bounds,
  revocations,
  outputBound,
  holds,
  codeCounts,
  steadyTime,
  ratesAhead,
  catalogueVersion,
  owners,
  artifactVersions,
  repeats,
  wires,
  kinds,
  aliases,
  pricedExtras,
  surfaces,
  cutTools,
  limits,
  signinEvents,
  routeMasks,
  memberships,
  access,
  events,
  accountLimits,
  credentials,
  accountEvents,
  servedCredential,
  devices,
  logouts,
  idTokenClaims,
  passkeys,
  invitations,
  movedDays,
  nodes,
]
