package classify

// shapeTable has the published forms of keys, a kind on each line; see parseShape. Where two
// begin alike, the longer one comes first. Keys that their services call publishable are not
// in it, nor are mere identifiers of accounts.
const shapeTable = `
aws_access_key AKIA{b16} ASIA{b16} ABIA{b16} ACCA{b16}
gcp_key AIza{u35}
google_oauth GOCSPX-{u28} ya29.{u40-2048} 1//0{u40-200}
github_token ghp_{a36} gho_{a36} ghu_{a36} ghs_{a36} ghr_{a36-76} github_pat_{a22}_{a59}
gitlab_token glpat-{u27-300}.{m2}.{m7-9} glpat-{u20} gldt-{u20-64} glrt-{u20-64} glptt-{x40} glcbt-{w20-64} glimt-{u25} glagent-{u50} glsoat-{u20} glft-{u20-64} glffct-{u20-64} gloas-{x64}
slack_token xoxb-{u20-250} xoxp-{u20-250} xoxa-{u20-250} xoxr-{u20-250} xoxs-{u20-250} xoxe-{u20-300} xoxe.xoxb-{u20-300} xoxe.xoxp-{u20-300} xoxc-{u20-250} xoxd-{v20-300} xapp-{d1-2}-{c8-16}-{d8-16}-{m32-80} https://hooks.slack.com/services/T{c6-14}/B{c6-14}/{a20-28} https://hooks.slack.com/workflows/T{c6-14}/A{c6-14}/{d10-20}/{a20-28}
stripe_key sk_live_{a16-247} rk_live_{a16-247} sk_test_{a16-247} rk_test_{a16-247} whsec_{z24-64} sk_org_live_{a16-247}
anthropic_key sk-ant-api03-{u80-120} sk-ant-admin01-{u80-120} sk-ant-oat01-{u80-120} sk-ant-ort01-{u80-120} sk-ant-sid01-{u80-140}
openai_key sk-proj-{u40-200} sk-svcacct-{u40-200} sk-admin-{u40-200} sk-{a20}T3BlbkFJ{a20}
npm_token npm_{a36}
pypi_token pypi-AgEIcHlwaS5vcmc{u50-1000} pypi-AgENdGVzdC5weXBpLm9yZw{u50-1000}
sendgrid_key SG.{u22}.{u43}
twilio_key SK{x32}
telegram_token {d8-10}:AA{u33}
digitalocean_token dop_v1_{x64} doo_v1_{x64} dor_v1_{x64}
huggingface_token hf_{a34-40} api_org_{l34}
databricks_token dapi{x32}-{d1} dapi{x32}
discord_token M{u23-27}.{u6}.{u27-38} N{u23-27}.{u6}.{u27-38} O{u23-27}.{u6}.{u27-38} https://discord.com/api/webhooks/{d17-20}/{u60-80} https://discordapp.com/api/webhooks/{d17-20}/{u60-80}
memkernel_key mk_{m12}_{u43}
saas_token shpat_{x32} shpss_{x32} shpca_{x32} shppa_{x32} shptka_{x32} hvs.{u24-120} hvb.{u80-300} hvr.{u24-120} {a14}.atlasv1.{u60-70} ntn_{a40-50} secret_{a43} lin_api_{a40} lin_oauth_{x64} glsa_{a32}_{x8} glc_{z32-400} dckr_pat_{u27} dckr_oat_{u27-40} PMAK-{x24}-{x34} gsk_{a52} xai-{a70-90} r8_{a37} pplx-{a40-56} fw_{a22-28} nvapi-{u60-70} sk-or-v1-{x64} sk-lf-{x8}-{x4}-{x4}-{x4}-{x12} lsv2_pt_{x32}_{x10} lsv2_sk_{x32}_{x10} tskey-auth-{a10-20}-{a20-50} tskey-api-{a10-20}-{a20-50} tskey-client-{a10-20}-{a20-50} sq0atp-{u22} sq0csp-{u43} EAAA{u60} {x32}-us{d1-2} key-{x32} ATATT3{z150-250} ATCTT3{z150-250} ATBB{a32} figd_{u40-50} figo_{u40-60} NRAK-{c27} NRII-{u32} sntrys_{z80-400} sntryu_{x64} sl.{u130-160} dp.pt.{a40-44} dp.st.{v40-64} fo1_{u43} FlyV1_{z50-800} HRKU-{u36-60} nfp_{a36-40} sbp_{x40} sb_secret_{u22-40} pscale_tkn_{v32-64} pscale_pw_{v32-64} pscale_oauth_{v32-64} pul-{x40} rubygems_{x48} cio{a32} AGE-SECRET-KEY-1{c58} ops_eyJ{z200-2000} EZAK{a54} EZTK{a54} duffel_live_{u43} pat{a14}.{x64} aio_{a28} AKCp{a60-80} CFPAT-{u43} dt0c01.{c24}.{c64} dt0s01.{c24}.{c64} EAA{a100-300} sk.eyJ{v60-400} rzp_live_{a14-24} access-production-{x8}-{x4}-{x4}-{x4}-{x12} tfp_{u40-60} sgp_{x40} sgp_{a16}_{x40} phx_{a43} waka_{x8}-{x4}-{x4}-{x4}-{x12} sk-{x32} sk-{a48} rpa_{c40-46} v1.0-{x24}-{x146} xkeysib-{x64}-{a16} xsmtpsib-{x64}-{a16} mlsn.{x64} re_{a8}_{a20-24} LTAI{a20} AKID{a32} xprv{a107} tvly-{u32-50} jina_{a60-64} apify_api_{a36} e2b_{x40}
`
